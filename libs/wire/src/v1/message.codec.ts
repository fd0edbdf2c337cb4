import type { ArtifactView, Json, JsonObject, Message, Part } from '@app/domain';
import { isObject, memberOf, ObjectReader, uriProblem, withoutAbsent, type Violations } from '../object-reader.js';

/** A client's message with the ids that the wire keeps inside it and the domain beside it. */
export interface AddressedMessage {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
}

const CONTENT = ['text', 'raw', 'url', 'data'] as const;

/** Reads `message` of a send (A2A v1.0 section 4.1.4, ProtoJSON). What is wrong goes to `violations`. */
export function decodeMessage(source: Json | undefined, violations: Violations): AddressedMessage {
  if (!isObject(source)) {
    violations.add('message', source === undefined || source === null ? 'is required' : 'must be an object');
    return { message: { messageId: '', role: 'user', parts: [] } };
  }
  const reader = new ObjectReader(source, 'message', violations, 'either');
  const messageId = reader.requiredId('messageId');
  const role = reader.raw('role');
  if (role === undefined || role === '' || role === 'ROLE_UNSPECIFIED') reader.wrong('role', 'is required');
  else if (role !== 'ROLE_USER') reader.wrong('role', 'must be ROLE_USER in a message to an agent');
  const taskId = reader.id('taskId');
  const contextId = reader.id('contextId');
  return {
    message: withoutAbsent({
      messageId,
      role: 'user',
      parts: decodeParts(reader),
      metadata: reader.object('metadata'),
      extensions: reader.strings('extensions', uriProblem),
      referenceTaskIds: reader.strings('referenceTaskIds'),
    }),
    ...(taskId === undefined ? {} : { taskId }),
    ...(contextId === undefined ? {} : { contextId }),
  };
}

function decodeParts(message: ObjectReader): Part[] {
  const parts = message.raw('parts');
  if (parts === undefined || (Array.isArray(parts) && parts.length === 0)) {
    message.wrong('parts', 'at least one part is required');
    return [];
  }
  if (!Array.isArray(parts)) {
    message.wrong('parts', 'must be an array');
    return [];
  }
  return parts.map((part, at) => decodePart(part, message, `parts[${at}]`));
}

function decodePart(source: Json, message: ObjectReader, name: string): Part {
  if (!isObject(source)) {
    message.wrong(name, 'must be an object');
    return {};
  }
  const reader = new ObjectReader(source, message.at(name), message.violations, message.spelling);
  // Only `data` may be null: it is a google.protobuf.Value, of which null is one.
  const present = CONTENT.filter((content) => memberOf(source, content, 'camel', content === 'data') !== undefined);
  if (present.length !== 1) message.wrong(name, 'must have exactly one of text, raw, url and data');
  const part: Part = {
    ...decodeContent(present[0], reader),
    metadata: reader.object('metadata'),
    filename: reader.string('filename'),
    mediaType: reader.string('mediaType'),
  };
  return withoutAbsent(part);
}

function decodeContent(content: (typeof CONTENT)[number] | undefined, reader: ObjectReader): Part {
  switch (content) {
    case 'text':
      return { text: reader.string('text', 'kept') };
    case 'raw':
      return { raw: reader.base64('raw') };
    case 'url': {
      const url = reader.string('url');
      if (url === undefined) reader.wrong('url', 'must not be empty');
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
export function encodeMessage(message: Message, ids: { contextId: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, ...rest } = message;
  return { messageId, ...ids, role: ROLES[role], parts: parts.map(encodePart), ...encodeRest(rest) };
}

export function encodeArtifact({ artifactId, name, description, parts, ...rest }: ArtifactView): JsonObject {
  return {
    artifactId,
    ...(name ? { name } : {}),
    ...(description ? { description } : {}),
    parts: parts.map(encodePart),
    ...encodeRest(rest),
  };
}

/** The domain's part has the wire's shape already. */
const encodePart = (part: Part): JsonObject => ({ ...part });

interface Rest {
  metadata?: JsonObject;
  extensions?: string[];
  referenceTaskIds?: string[];
}

function encodeRest({ metadata, extensions, referenceTaskIds }: Rest): JsonObject {
  return {
    ...(metadata === undefined ? {} : { metadata }),
    ...(extensions?.length ? { extensions } : {}),
    ...(referenceTaskIds?.length ? { referenceTaskIds } : {}),
  };
}
