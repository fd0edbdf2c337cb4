import type { Json, Message, Part } from '@app/domain';
import {
  dropUndefined,
  type FieldCase,
  type ObjectReader,
  requiredObject,
  uriProblem,
  type Violations,
  withValue,
} from './object-reader.js';
import { enumName, type ProtoEnum } from './proto-enum.js';

/** A message with its ids. A wire has the ids inside the message, the domain beside it. */
export interface ReceivedMessage {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
}

/** The differences between the versions in a message: the names of the roles, and the parts. */
export interface MessageFormat {
  readonly fieldCase: FieldCase;
  /** The enum of the roles in ProtoJSON, which can also be a number. */
  readonly roles?: ProtoEnum;
  readonly userRole: string;
  /** Absent for the messages that clients send, which only have the user role. */
  readonly agentRole?: string;
  /** Name of the field with the parts; `parts` if absent. */
  readonly partsName?: string;
  decodePart(source: Json, message: ObjectReader, name: string): Part;
}

/** Reads a message, whose fields except the parts are the same in both versions. Errors are added to `violations`. */
export function readMessage(
  source: Json | undefined,
  violations: Violations,
  format: MessageFormat,
  path = 'message',
): ReceivedMessage {
  const reader = requiredObject(source, path, violations, format.fieldCase);
  const messageId = reader.requiredId('messageId');
  const role = readRole(reader, format);
  const taskId = reader.id('taskId');
  const contextId = reader.id('contextId');
  return {
    message: dropUndefined({
      messageId,
      role,
      parts: readParts(reader, format),
      metadata: reader.object('metadata'),
      extensions: reader.strings('extensions', uriProblem),
      referenceTaskIds: reader.strings('referenceTaskIds'),
    }),
    ...(taskId === undefined ? {} : { taskId }),
    ...(contextId === undefined ? {} : { contextId }),
  };
}

function readRole(message: ObjectReader, { roles, userRole, agentRole }: MessageFormat): Message['role'] {
  const value = message.value('role');
  const role = roles === undefined ? value : enumName(roles, value);
  if (value === undefined || value === '') message.addViolation('role', 'is required');
  else if (role !== userRole && (agentRole === undefined || role !== agentRole)) {
    const expected = agentRole === undefined ? `${userRole} in a message to an agent` : `${userRole} or ${agentRole}`;
    message.addViolation('role', withValue(`must be ${expected}`, value));
  }
  return role !== undefined && role === agentRole ? 'agent' : 'user';
}

/** Reads the parts of a message or an artifact, which must have at least one. */
export function readParts(
  message: ObjectReader,
  { partsName = 'parts', decodePart }: Pick<MessageFormat, 'partsName' | 'decodePart'>,
): Part[] {
  const parts = message.value(partsName);
  if (parts === undefined || (Array.isArray(parts) && parts.length === 0)) {
    message.addViolation(partsName, 'at least one part is required');
    return [];
  }
  if (!Array.isArray(parts)) {
    message.addViolation(partsName, withValue('must be an array', parts));
    return [];
  }
  return parts.map((part, index) => decodePart(part, message, `${partsName}[${index}]`));
}
