import type { ArtifactView, Json, JsonObject, Message, Part } from '@app/domain';
import { isObject, ObjectReader, uriProblem, withoutAbsent, type Violations } from '../object-reader.js';
import { decodePart, encodePart } from './part.codec.js';

/** Reads `message` of a send (A2A v0.3 section 6.4). What is wrong goes to `violations`. */
export function decodeMessage(
  source: Json | undefined,
  violations: Violations,
): { message: Message; taskId?: string; contextId?: string } {
  if (!isObject(source)) {
    violations.add('message', source === undefined || source === null ? 'is required' : 'must be an object');
    return { message: { messageId: '', role: 'user', parts: [] } };
  }
  const reader = new ObjectReader(source, 'message', violations, 'camel');
  const kind = reader.raw('kind');
  // The discriminator is required by the schema, and left out by many clients of the time: the spec's own examples do.
  if (kind !== undefined && kind !== 'message') reader.wrong('kind', 'must be message');
  const messageId = reader.requiredId('messageId');
  const role = reader.raw('role');
  if (role === undefined) reader.wrong('role', 'is required');
  else if (role !== 'user') reader.wrong('role', 'must be user in a message to an agent');
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

/** `taskId` is left out for a bare reply, which belongs to no task. */
export function encodeMessage(message: Message, ids: { contextId: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, ...rest } = message;
  return { kind: 'message', messageId, ...ids, role, parts: parts.map(encodePart), ...encodeRest(rest) };
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

interface Rest {
  metadata?: JsonObject;
  extensions?: string[];
  referenceTaskIds?: string[];
}

const encodeRest = ({ metadata, extensions, referenceTaskIds }: Rest): JsonObject => ({
  ...(metadata === undefined ? {} : { metadata }),
  ...(extensions?.length ? { extensions } : {}),
  ...(referenceTaskIds?.length ? { referenceTaskIds } : {}),
});
