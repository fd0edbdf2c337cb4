import type { TraceContext } from '@app/domain';
import type { EdgeRequest } from './edge-request.js';

/** Version, trace id, parent id and flags. Version `ff` and ids of zeros are invalid (W3C Trace Context, section 3.2.2). */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** One entry of `tracestate` (section 3.3.1): a key, and a value of printable ASCII without comma, equals sign and last space. */
const TRACE_STATE_ENTRY = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;
const MAX_ENTRIES = 32;
/** The length that every participant must be able to propagate. */
const MAX_TRACE_STATE_LENGTH = 512;

/**
 * Returns the trace context of a request; undefined if `traceparent` is missing or malformed. A malformed `tracestate` is ignored.
 * Entries at its end that exceed 512 characters are removed.
 */
export function traceContextOf({ headers }: Pick<EdgeRequest, 'headers'>): TraceContext | undefined {
  const { traceparent: parent, tracestate } = headers;
  if (typeof parent !== 'string' || !TRACE_PARENT.test(parent)) return undefined;
  const state = traceStateOf([tracestate ?? []].flat().join(','));
  return state === '' ? { parent } : { parent, state };
}

function traceStateOf(header: string): string {
  const entries = header
    .split(',')
    .map((entry) => entry.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((entry) => entry !== '');
  const keys = new Set(entries.map((entry) => entry.split('=', 1)[0]));
  const isValid =
    entries.length <= MAX_ENTRIES && keys.size === entries.length && entries.every((e) => TRACE_STATE_ENTRY.test(e));
  if (!isValid) return '';
  while (entries.join(',').length > MAX_TRACE_STATE_LENGTH) entries.pop();
  return entries.join(',');
}
