import type { Json, JsonObject, Message } from '@app/domain';
import { encodeOptionalFields } from '../task/message-fields.js';
import { readMessage, type ReceivedMessage } from '../validation/message-reader.js';
import { isObject, type Violations, withValue } from '../validation/object-reader.js';
import { decodePart, encodePart } from './part.codec.js';

/** Reads `message` of a send (A2A v0.3 section 6.4). Errors are added to `violations`. */
export function decodeMessage(source: Json | undefined, violations: Violations): ReceivedMessage {
  const kind = isObject(source) ? source['kind'] : undefined;
  // The schema requires the discriminator, but many v0.3 clients omit it, as the spec's own examples do (section 9.2).
  if (kind !== undefined && kind !== 'message') violations.add('message.kind', withValue('must be message', kind));
  return readMessage(source, violations, { fieldCase: 'camel', userRole: 'user', decodePart });
}

/** Encodes a message. `taskId` is absent for a direct message response, which belongs to no task. */
export function encodeMessage(message: Message, ids: { contextId?: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, ...optional } = message;
  return { kind: 'message', messageId, ...ids, role, parts: parts.map(encodePart), ...encodeOptionalFields(optional) };
}
