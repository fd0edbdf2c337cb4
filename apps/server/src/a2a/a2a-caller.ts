import type { Json } from '@app/domain';
import type { TaskStream } from '@app/streaming';
import { type A2aCodec, activeExtensions, type CardExtension, type StreamUpdate } from '@app/wire';
import type { FastifyReply } from 'fastify';
import { agentScopeOf } from '../edge/callers/agent-scope.js';
import { clientOf } from '../edge/callers/client.js';
import { disconnectSignal, type EdgeRequest, lastEventIdOf, principalOf } from '../edge/callers/edge-request.js';
import { traceContextOf } from '../edge/callers/trace-context.js';
import type { SseSource } from '../edge/streams/sse-streams.js';
import type { A2aCaller } from './a2a-operations.js';

/**
 * Returns the caller of an A2A request, and names the activated extensions in the response. Errors:
 * ExtensionSupportRequired.
 */
export function callerOf(
  codec: A2aCodec,
  extensionsOf: (agent: string | undefined) => readonly CardExtension[],
  request: EdgeRequest,
  reply: FastifyReply,
): A2aCaller {
  const scope = agentScopeOf(request);
  activateExtensions(extensionsOf(scope.agent), request, reply);
  return {
    principal: principalOf(request),
    authorization: request.headers.authorization,
    protocolVersion: codec.version,
    subscriptionUntil: codec.subscriptionUntil,
    signal: disconnectSignal(reply),
    scope,
    client: clientOf(request),
    trace: traceContextOf(request),
    lastEventId: lastEventIdOf(request),
  };
}

function activateExtensions(offered: readonly CardExtension[], { headers }: EdgeRequest, reply: FastifyReply): void {
  const { header, uris } = activeExtensions(headers, offered);
  if (uris.length > 0) reply.header(header, uris.join(', '));
}

/** Encodes the updates of a task stream as SSE frames. */
export function encodeStream(stream: TaskStream, encode: (update: StreamUpdate) => Json): SseSource {
  return {
    task: stream.task,
    async *frames(signal) {
      for await (const { id, update } of stream.frames(signal)) yield { id, data: JSON.stringify(encode(update)) };
    },
  };
}
