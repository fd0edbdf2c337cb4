import type { ArtifactView, Json, JsonObject, Message } from '@app/domain';
import { readMessage, encodeOptionalFields, type ReceivedMessage } from '../validation/message-reader.js';
import { isObject, type Violations } from '../validation/object-reader.js';
import { decodePart, encodePart } from './part.codec.js';

/** Reads `message` of a send (A2A v0.3 section 6.4). What is wrong goes to `violations`. */
export function decodeMessage(source: Json | undefined, violations: Violations): ReceivedMessage {
  const kind = isObject(source) ? source['kind'] : undefined;
  // The schema requires the discriminator, and many clients of the time leave it out, as the spec's own examples do (section 9.2).
  if (kind !== undefined && kind !== 'message') violations.add('message.kind', 'must be message');
  return readMessage(source, violations, { spelling: 'camel', userRole: 'user', decodePart });
}

/** `taskId` is left out for a bare reply, which belongs to no task. */
export function encodeMessage(message: Message, ids: { contextId?: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, ...rest } = message;
  return { kind: 'message', messageId, ...ids, role, parts: parts.map(encodePart), ...encodeOptionalFields(rest) };
}

export function encodeArtifact({ artifactId, parts, ...rest }: ArtifactView): JsonObject {
  return { artifactId, parts: parts.map(encodePart), ...encodeOptionalFields(rest) };
}
