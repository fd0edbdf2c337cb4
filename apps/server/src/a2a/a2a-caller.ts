import type { StreamFrame } from '@app/streaming';
import type { Json } from '@app/domain';
import {
  type A2aCodec,
  activeExtensions,
  type CardExtension,
  EXTENSIONS_HEADER,
  LEGACY_EXTENSIONS_HEADER,
  type SseFrame,
  type StreamUpdate,
} from '@app/wire';
import type { FastifyReply } from 'fastify';
import { doorOf } from '../edge/agent-scope.js';
import { type EdgeRequest, lastEventIdOf, principalOf, traceParentOf, whileConnected } from '../edge/caller.js';
import type { StreamCaller } from './a2a-operations.js';

/**
 * Who asks, as every A2A binding hands it on. The answer names the extensions that the request activated. Errors:
 * ExtensionSupportRequired.
 */
export function callerOf(
  codec: A2aCodec,
  extensionsOf: (agent: string | undefined) => readonly CardExtension[],
  request: EdgeRequest,
  reply: FastifyReply,
): StreamCaller {
  const door = doorOf(request);
  activateExtensions(extensionsOf(door.agent), request, reply);
  const traceParent = traceParentOf(request);
  const lastEventId = lastEventIdOf(request);
  return {
    principal: principalOf(request),
    authorization: request.headers.authorization,
    protocolVersion: codec.version,
    until: codec.subscriptionUntil,
    signal: whileConnected(reply),
    door,
    ...(traceParent === undefined ? {} : { traceParent }),
    ...(lastEventId === undefined ? {} : { lastEventId }),
  };
}

function activateExtensions(offered: readonly CardExtension[], { headers }: EdgeRequest, reply: FastifyReply): void {
  const current = headers[EXTENSIONS_HEADER.toLowerCase()];
  const legacy = headers[LEGACY_EXTENSIONS_HEADER.toLowerCase()];
  const active = activeExtensions(current ?? legacy, offered);
  if (active.length === 0) return;
  reply.header(current === undefined ? LEGACY_EXTENSIONS_HEADER : EXTENSIONS_HEADER, active.join(', '));
}

/** The frames of a stream as one binding writes them. */
export async function* encoded(
  frames: AsyncIterable<StreamFrame>,
  encode: (update: StreamUpdate) => Json,
): AsyncGenerator<SseFrame> {
  for await (const { id, update } of frames) yield { id, data: JSON.stringify(encode(update)) };
}
