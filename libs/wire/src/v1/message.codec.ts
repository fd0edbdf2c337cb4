import type { ArtifactView, Json, JsonObject, Message, Part, ViewPart } from '@app/domain';
import { resolvePlaceholder } from '../placeholder.js';
import { readMessage, encodeOptionalFields, type ReceivedMessage } from '../validation/message-reader.js';
import { isObject, memberOf, ObjectReader, dropUndefined, type Violations } from '../validation/object-reader.js';

const CONTENT = ['text', 'raw', 'url', 'data'] as const;

/** Reads `message` of a send (A2A v1.0 section 4.1.4, ProtoJSON). What is wrong goes to `violations`. */
export const decodeMessage = (source: Json | undefined, violations: Violations): ReceivedMessage =>
  readMessage(source, violations, { fieldCase: 'camel-or-snake', userRole: 'ROLE_USER', decodePart });

export function decodePart(source: Json, message: ObjectReader, name: string): Part {
  if (!isObject(source)) {
    message.addViolation(name, 'must be an object');
    return {};
  }
  const reader = new ObjectReader(source, message.pathOf(name), message.violations, message.fieldCase);
  // Only `data` may be null: it is a google.protobuf.Value, of which null is one.
  const present = CONTENT.filter((content) => memberOf(source, content, 'camel', content === 'data') !== undefined);
  if (present.length !== 1) message.addViolation(name, 'must have exactly one of text, raw, url and data');
  return dropUndefined<Part>({
    ...decodeContent(present[0], reader),
    metadata: reader.object('metadata'),
    filename: reader.string('filename'),
    mediaType: reader.string('mediaType'),
  });
}

function decodeContent(content: (typeof CONTENT)[number] | undefined, reader: ObjectReader): Part {
  switch (content) {
    case 'text':
      return { text: reader.string('text', 'kept') };
    case 'raw':
      return { raw: reader.base64('raw') };
    case 'url': {
      const url = reader.string('url');
      if (url === undefined) reader.addViolation('url', 'must not be empty');
      return { url };
    }
    case 'data':
      return { data: reader.source['data'] };
    case undefined:
      return {};
  }
}

const ROLES = { user: 'ROLE_USER', agent: 'ROLE_AGENT' } as const;

/** `taskId` is left out for a bare reply, which belongs to no task. */
export function encodeMessage(message: Message, ids: { contextId?: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, ...rest } = message;
  return { messageId, ...ids, role: ROLES[role], parts: parts.map(encodePart), ...encodeOptionalFields(rest) };
}

export function encodeArtifact({ artifactId, parts, ...rest }: ArtifactView): JsonObject {
  return { artifactId, parts: parts.map(encodePart), ...encodeOptionalFields(rest) };
}

/** The domain's part has the wire's shape already. */
const encodePart = (part: ViewPart): JsonObject => ({ ...resolvePlaceholder(part) });
