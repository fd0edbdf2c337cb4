import type { Json, JsonObject, Message, Part } from '@app/domain';
import { isObject, ObjectReader, uriProblem, dropUndefined, type FieldCase, type Violations } from './object-reader.js';

/** A client's message with the ids that the wire keeps inside it and the domain beside it. */
export interface ReceivedMessage {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
}

/** What differs between the versions: the words for the roles, and the parts. */
export interface MessageFormat {
  readonly spelling: FieldCase;
  readonly userRole: string;
  /** Absent where agents do not speak: in what a client sends. */
  readonly agentRole?: string;
  /** Where the parts are, `parts` if nothing else is said. */
  readonly partsName?: string;
  decodePart(source: Json, message: ObjectReader, name: string): Part;
}

/** Reads a message; around its parts, both versions have the same fields. What is wrong goes to `violations`. */
export function readMessage(
  source: Json | undefined,
  violations: Violations,
  dialect: MessageFormat,
  path = 'message',
): ReceivedMessage {
  if (!isObject(source)) {
    violations.add(path, source === undefined || source === null ? 'is required' : 'must be an object');
    return { message: { messageId: '', role: 'user', parts: [] } };
  }
  const reader = new ObjectReader(source, path, violations, dialect.spelling);
  const messageId = reader.requiredId('messageId');
  const role = reader.value('role');
  if (role === undefined || role === '') reader.addViolation('role', 'is required');
  else if (dialect.agentRole === undefined) {
    if (role !== dialect.userRole) reader.addViolation('role', `must be ${dialect.userRole} in a message to an agent`);
  } else if (role !== dialect.userRole && role !== dialect.agentRole) {
    reader.addViolation('role', `must be ${dialect.userRole} or ${dialect.agentRole}`);
  }
  const taskId = reader.id('taskId');
  const contextId = reader.id('contextId');
  return {
    message: dropUndefined({
      messageId,
      role: role === dialect.agentRole && role !== undefined ? 'agent' : 'user',
      parts: readParts(reader, dialect),
      metadata: reader.object('metadata'),
      extensions: reader.strings('extensions', uriProblem),
      referenceTaskIds: reader.strings('referenceTaskIds'),
    }),
    ...(taskId === undefined ? {} : { taskId }),
    ...(contextId === undefined ? {} : { contextId }),
  };
}

export function readParts(message: ObjectReader, dialect: MessageFormat): Part[] {
  const { partsName = 'parts' } = dialect;
  const parts = message.value(partsName);
  if (parts === undefined || (Array.isArray(parts) && parts.length === 0)) {
    message.addViolation(partsName, 'at least one part is required');
    return [];
  }
  if (!Array.isArray(parts)) {
    message.addViolation(partsName, 'must be an array');
    return [];
  }
  return parts.map((part, at) => dialect.decodePart(part, message, `${partsName}[${at}]`));
}

/** The fields of messages and artifacts that both versions write alike; what is empty is left out. */
export const encodeOptionalFields = ({
  name,
  description,
  metadata,
  extensions,
  referenceTaskIds,
}: {
  name?: string;
  description?: string;
  metadata?: JsonObject;
  extensions?: string[];
  referenceTaskIds?: string[];
}): JsonObject => ({
  ...(name ? { name } : {}),
  ...(description ? { description } : {}),
  ...(metadata === undefined ? {} : { metadata }),
  ...(extensions?.length ? { extensions } : {}),
  ...(referenceTaskIds?.length ? { referenceTaskIds } : {}),
});
