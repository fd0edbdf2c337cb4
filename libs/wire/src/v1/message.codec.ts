import type { Json, JsonObject, Message, Part, ViewPart } from '@app/domain';
import { encodeOptionalFields } from '../task/message-fields.js';
import { resolvePlaceholder } from '../task/placeholder.js';
import { contentUrlProblem, filenameProblem, mediaTypeProblem } from '../validation/content-rules.js';
import { readMessage, type ReceivedMessage } from '../validation/message-reader.js';
import {
  dropUndefined,
  isObject,
  memberOf,
  ObjectReader,
  type Violations,
  withValue,
} from '../validation/object-reader.js';
import { ROLE_ENUM } from '../validation/proto-enum.js';

const CONTENT = ['text', 'raw', 'url', 'data'] as const;

/** Reads `message` of a send (A2A v1.0 section 4.1.4, ProtoJSON). Errors are added to `violations`. */
export const decodeMessage = (source: Json | undefined, violations: Violations): ReceivedMessage =>
  readMessage(source, violations, {
    fieldCase: 'camel-or-snake',
    roles: ROLE_ENUM,
    userRole: 'ROLE_USER',
    decodePart,
  });

/** Reads the part `name` of a message or an artifact. Errors are added to the violations of the message. */
export function decodePart(source: Json, message: ObjectReader, name: string): Part {
  if (!isObject(source)) {
    message.addViolation(name, withValue('must be an object', source));
    return {};
  }
  const reader = new ObjectReader(source, message.pathOf(name), message.violations, message.fieldCase);
  // Only `data` can be null: it is a google.protobuf.Value, which has null as a value.
  const present = CONTENT.filter((content) => memberOf(source, content, 'camel', content === 'data') !== undefined);
  if (present.length !== 1) message.addViolation(name, 'must have exactly one of text, raw, url and data');
  return dropUndefined<Part>({
    ...decodeContent(present[0], reader),
    metadata: reader.object('metadata'),
    filename: reader.checkedString('filename', filenameProblem),
    mediaType: reader.checkedString('mediaType', mediaTypeProblem),
  });
}

function decodeContent(content: (typeof CONTENT)[number] | undefined, reader: ObjectReader): Part {
  switch (content) {
    case 'text':
      return { text: reader.string('text', 'kept') };
    case 'raw':
      return { raw: reader.base64('raw') };
    case 'url': {
      const url = reader.checkedString('url', contentUrlProblem);
      if (url === undefined) reader.addViolation('url', 'must not be empty');
      return { url };
    }
    case 'data':
      return { data: reader.source['data'] };
    case undefined:
      return {};
  }
}

const ROLES: Record<Message['role'], string> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' };

/** Encodes a message. `taskId` is absent for a direct message response, which belongs to no task. */
export function encodeMessage(message: Message, ids: { contextId?: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, ...optional } = message;
  return { messageId, ...ids, role: ROLES[role], parts: parts.map(encodePart), ...encodeOptionalFields(optional) };
}

/** Encodes a part. The parts of the domain have the shape of v1.0. */
export const encodePart = (part: ViewPart): JsonObject => ({ ...resolvePlaceholder(part) });
