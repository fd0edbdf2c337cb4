import type { ArtifactView, Json, Message } from '@app/domain';
import type { CardExtension, CardSkill } from '../card-description.js';
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../transport/version.js';
import { type MessageFormat, readMessage, readParts } from '../validation/message-reader.js';
import {
  dropUndefined,
  isObject,
  ObjectReader,
  requiredObject,
  uriProblem,
  Violations,
  withValue,
} from '../validation/object-reader.js';
import { enumName, type ProtoEnum } from '../validation/proto-enum.js';
import type {
  UpstreamCard,
  UpstreamIds,
  UpstreamInterface,
  UpstreamStatus,
  UpstreamTaskSnapshot,
  UpstreamUpdate,
} from './client-codec.js';

/** The differences between the versions in what an upstream agent returns. */
export interface UpstreamFormat extends MessageFormat {
  readonly agentRole: string;
  /** The enum of the states in ProtoJSON, which can also be a number. */
  readonly stateNames?: ProtoEnum;
  /** Statuses by the `state` of the version. */
  readonly states: ReadonlyMap<string, UpstreamStatus['state']>;
}

/** Runs `read`, and then throws InvalidParameters if it added a violation. */
export function decodeOrThrow<T>(read: (violations: Violations) => T): T {
  const violations = new Violations();
  const value = read(violations);
  violations.throwIfAny();
  return value;
}

export function readTask(
  source: Json | undefined,
  path: string,
  violations: Violations,
  format: UpstreamFormat,
): UpstreamTaskSnapshot {
  const task = requiredObject(source, path, violations, format.fieldCase);
  const artifacts = readList(task, 'artifacts').map((artifact, index) =>
    readArtifact(artifact, task.pathOf(`artifacts[${index}]`), task.violations, format),
  );
  return {
    ...readIds(task, 'id'),
    status: readStatus(task.value('status'), task.pathOf('status'), task.violations, format),
    artifacts,
    // Only the ids are needed, so an invalid message in the history does not make the task invalid.
    messageIds: readList(task, 'history').flatMap((message) => {
      if (!isObject(message)) return [];
      const id = new ObjectReader(message, '', violations, format.fieldCase).value('messageId');
      return typeof id === 'string' ? [id] : [];
    }),
  };
}

export function readStatusUpdate(update: ObjectReader, format: UpstreamFormat): UpstreamUpdate {
  const status = readStatus(update.value('status'), update.pathOf('status'), update.violations, format);
  return { type: 'status', ids: readIds(update, 'taskId'), status };
}

export function readArtifactUpdate(update: ObjectReader, format: UpstreamFormat): UpstreamUpdate {
  return {
    type: 'artifact',
    ids: readIds(update, 'taskId'),
    artifact: readArtifact(update.value('artifact'), update.pathOf('artifact'), update.violations, format),
    append: readFlag(update, 'append'),
    last: readFlag(update, 'lastChunk'),
  };
}

export const readUpstreamMessage = (
  source: Json | undefined,
  path: string,
  violations: Violations,
  format: UpstreamFormat,
): Message => readMessage(source, violations, format, path).message;

function readIds(reader: ObjectReader, taskIdName: string): UpstreamIds {
  const taskId = reader.requiredId(taskIdName);
  const contextId = reader.id('contextId');
  return contextId === undefined ? { taskId } : { taskId, contextId };
}

function readStatus(
  source: Json | undefined,
  path: string,
  violations: Violations,
  format: UpstreamFormat,
): UpstreamStatus {
  const status = requiredObject(source, path, violations, format.fieldCase);
  const value = status.value('state');
  const name = format.stateNames === undefined ? value : enumName(format.stateNames, value);
  const state = typeof name === 'string' ? format.states.get(name) : undefined;
  if (state === undefined) {
    status.addViolation('state', withValue(`must be one of ${[...format.states.keys()].join(', ')}`, value));
  }
  const message = status.value('message');
  // Some agents report a status with a message that has no parts.
  const hasContent = message !== undefined && !(isObject(message) && isEmptyList(message['parts']));
  return dropUndefined({
    state: state ?? 'working',
    message: hasContent ? readUpstreamMessage(message, status.pathOf('message'), status.violations, format) : undefined,
    timestamp: status.string('timestamp'),
  });
}

const isEmptyList = (parts: Json | undefined): boolean =>
  parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0);

function readArtifact(
  source: Json | undefined,
  path: string,
  violations: Violations,
  format: UpstreamFormat,
): ArtifactView {
  const artifact = requiredObject(source, path, violations, format.fieldCase);
  return dropUndefined({
    artifactId: artifact.requiredId('artifactId'),
    name: artifact.string('name'),
    description: artifact.string('description'),
    parts: readParts(artifact, format),
    metadata: artifact.object('metadata'),
    extensions: artifact.strings('extensions', uriProblem),
  });
}

/** Reads the fields that the cards of both versions have in common. */
export function readCard(card: ObjectReader, interfaces: readonly UpstreamInterface[]): UpstreamCard {
  const capabilities = readObject(card, 'capabilities');
  return {
    name: card.string('name') ?? '',
    description: card.string('description') ?? '',
    version: card.string('version') ?? '',
    skills: readObjects(card, 'skills').map(readSkill),
    inputModes: card.strings('defaultInputModes') ?? [],
    outputModes: card.strings('defaultOutputModes') ?? [],
    extensions: readObjects(capabilities, 'extensions').map(readExtension),
    streaming: readFlag(capabilities, 'streaming'),
    interfaces,
  };
}

function readSkill(skill: ObjectReader): CardSkill {
  const id = skill.requiredId('id');
  return dropUndefined({
    id,
    name: skill.string('name') ?? id,
    description: skill.string('description') ?? '',
    tags: skill.strings('tags') ?? [],
    examples: skill.strings('examples', acceptAnyText),
    inputModes: skill.strings('inputModes'),
    outputModes: skill.strings('outputModes'),
  });
}

const acceptAnyText = (): undefined => undefined;

function readExtension(extension: ObjectReader): CardExtension {
  const uri = extension.string('uri') ?? '';
  const problem = uri === '' ? 'is required' : uriProblem(uri);
  if (problem !== undefined) extension.addViolation('uri', problem);
  return dropUndefined({
    uri,
    description: extension.string('description'),
    required: readFlag(extension, 'required') || undefined,
    params: extension.object('params'),
  });
}

function readList(reader: ObjectReader, name: string): Json[] {
  const value = reader.value(name);
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  reader.addViolation(name, withValue('must be an array', value));
  return [];
}

function readFlag(reader: ObjectReader, name: string): boolean {
  const value = reader.value(name);
  if (value !== undefined && typeof value !== 'boolean') {
    reader.addViolation(name, withValue('must be true or false', value));
  }
  return value === true;
}

const readObject = (reader: ObjectReader, name: string): ObjectReader =>
  new ObjectReader(reader.object(name) ?? {}, reader.pathOf(name), reader.violations, reader.fieldCase);

/** Reads a list of objects. An item that is not an object is a violation and is omitted. */
export function readObjects(reader: ObjectReader, name: string): ObjectReader[] {
  return readList(reader, name).flatMap((item, index) => {
    const path = `${name}[${index}]`;
    if (isObject(item)) return [new ObjectReader(item, reader.pathOf(path), reader.violations, reader.fieldCase)];
    reader.addViolation(path, withValue('must be an object', item));
    return [];
  });
}

/**
 * Returns the supported version that a `protocolVersion` of a card names, or undefined. A client ignores the patch number (A2A v1.0
 * section 3.6).
 */
export const supportedVersionOf = (version: string): ProtocolVersion | undefined =>
  PROTOCOL_VERSIONS.find((supported) => version === supported || version.startsWith(`${supported}.`));
