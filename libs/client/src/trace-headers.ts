import { randomBytes } from 'node:crypto';
import type { TraceContext } from '@app/domain';

const SPAN_ID_BYTES = 8;

/**
 * Returns the headers of a request that continues a trace: the same trace id and state, and a new parent id, which stands for
 * the request (W3C Trace Context, section 3.4).
 */
export function traceHeaders(trace: TraceContext | undefined): Record<string, string> {
  if (trace === undefined) return {};
  const [, traceId, , flags] = trace.parent.split('-');
  const traceparent = `00-${traceId}-${randomBytes(SPAN_ID_BYTES).toString('hex')}-${flags}`;
  return { traceparent, ...(trace.state === undefined ? {} : { tracestate: trace.state }) };
}
