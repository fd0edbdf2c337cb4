import type { StreamFrame } from '@app/delivery';
import type { Json } from '@app/domain';
import type { A2aCodec, SseFrame, StreamUpdate } from '@app/wire';
import type { FastifyReply } from 'fastify';
import { type EdgeRequest, lastEventIdOf, principalOf, traceParentOf, whileConnected } from '../edge/caller.js';
import type { StreamCaller } from './a2a-operations.js';

/** Who asks, as every A2A binding hands it on. */
export function callerOf(codec: A2aCodec, request: EdgeRequest, reply: FastifyReply): StreamCaller {
  const traceParent = traceParentOf(request);
  const lastEventId = lastEventIdOf(request);
  return {
    principal: principalOf(request),
    protocolVersion: codec.version,
    until: codec.subscriptionUntil,
    signal: whileConnected(reply),
    ...(traceParent === undefined ? {} : { traceParent }),
    ...(lastEventId === undefined ? {} : { lastEventId }),
  };
}

/** The frames of a stream as one binding writes them. */
export async function* encoded(
  frames: AsyncIterable<StreamFrame>,
  encode: (update: StreamUpdate) => Json,
): AsyncGenerator<SseFrame> {
  for await (const { id, update } of frames) yield { id, data: JSON.stringify(encode(update)) };
}
