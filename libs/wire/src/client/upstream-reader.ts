import type { ArtifactView, Json } from '@app/domain';
import type { CardExtension, CardSkill } from '../card-description.js';
import type {
  UpstreamCard,
  UpstreamIds,
  UpstreamInterface,
  UpstreamStatus,
  UpstreamTaskSnapshot,
  UpstreamUpdate,
} from './client-codec.js';
import { readMessage, readParts, type MessageFormat } from '../validation/message-reader.js';
import { isObject, ObjectReader, uriProblem, Violations, dropUndefined } from '../validation/object-reader.js';
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../transport/version.js';

/** What differs between the versions in what an agent answers. */
export interface UpstreamFormat extends MessageFormat {
  readonly agentRole: string;
  readonly states: ReadonlyMap<string, UpstreamStatus['state']>;
}

/** Reads with the violations checked at the end: InvalidParameters names all that is wrong. */
export function decodeOrThrow<T>(read: (violations: Violations) => T): T {
  const violations = new Violations();
  const value = read(violations);
  violations.throwIfAny();
  return value;
}

export function objectAt(
  source: Json | undefined,
  path: string,
  violations: Violations,
  { spelling }: MessageFormat,
): ObjectReader {
  if (isObject(source)) return new ObjectReader(source, path, violations, spelling);
  violations.add(path, source === undefined || source === null ? 'is required' : 'must be an object');
  return new ObjectReader({}, path, new Violations(), spelling);
}

export function readTask(
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: UpstreamFormat,
): UpstreamTaskSnapshot {
  const task = objectAt(source, path, violations, dialect);
  const artifacts = listIn(task, 'artifacts').map((artifact, at) =>
    readArtifact(artifact, task.pathOf(`artifacts[${at}]`), task.violations, dialect),
  );
  return {
    ...idsIn(task, 'id'),
    status: readStatus(task.value('status'), task.pathOf('status'), task.violations, dialect),
    artifacts,
    // All that is needed of it; a message in it that could not be read would be no reason to give the task up.
    messageIds: listIn(task, 'history').flatMap((message) => {
      const id = isObject(message)
        ? new ObjectReader(message, '', violations, dialect.spelling).value('messageId')
        : null;
      return typeof id === 'string' ? [id] : [];
    }),
  };
}

export function readStatusUpdate(update: ObjectReader, dialect: UpstreamFormat): UpstreamUpdate {
  const status = readStatus(update.value('status'), update.pathOf('status'), update.violations, dialect);
  return { type: 'status', ids: idsIn(update, 'taskId'), status };
}

export function readArtifactUpdate(update: ObjectReader, dialect: UpstreamFormat): UpstreamUpdate {
  return {
    type: 'artifact',
    ids: idsIn(update, 'taskId'),
    artifact: readArtifact(update.value('artifact'), update.pathOf('artifact'), update.violations, dialect),
    append: flagIn(update, 'append'),
    last: flagIn(update, 'lastChunk'),
  };
}

export const readUpstreamMessage = (
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: UpstreamFormat,
) => readMessage(source, violations, dialect, path).message;

function idsIn(reader: ObjectReader, name: string): UpstreamIds {
  const taskId = reader.requiredId(name);
  const contextId = reader.id('contextId');
  return contextId === undefined ? { taskId } : { taskId, contextId };
}

function readStatus(
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: UpstreamFormat,
): UpstreamStatus {
  const status = objectAt(source, path, violations, dialect);
  const word = status.value('state');
  const state = typeof word === 'string' ? dialect.states.get(word) : undefined;
  if (state === undefined) status.addViolation('state', `must be one of ${[...dialect.states.keys()].join(', ')}`);
  const message = status.value('message');
  // Some agents report with a message that says nothing.
  const said = message !== undefined && !(isObject(message) && isEmptyList(message['parts']));
  return dropUndefined({
    state: state ?? 'working',
    message: said ? readUpstreamMessage(message, status.pathOf('message'), status.violations, dialect) : undefined,
    timestamp: status.string('timestamp'),
  });
}

const isEmptyList = (parts: Json | undefined): boolean =>
  parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0);

function readArtifact(
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: UpstreamFormat,
): ArtifactView {
  const artifact = objectAt(source, path, violations, dialect);
  return dropUndefined({
    artifactId: artifact.requiredId('artifactId'),
    name: artifact.string('name'),
    description: artifact.string('description'),
    parts: readParts(artifact, dialect),
    metadata: artifact.object('metadata'),
    extensions: artifact.strings('extensions', uriProblem),
  });
}

function listIn(reader: ObjectReader, name: string): Json[] {
  const value = reader.value(name);
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  reader.addViolation(name, 'must be an array');
  return [];
}

function flagIn(reader: ObjectReader, name: string): boolean {
  const value = reader.value(name);
  if (value !== undefined && typeof value !== 'boolean') reader.addViolation(name, 'must be true or false');
  return value === true;
}

/** What the cards of both versions say alike. */
export function readCard(card: ObjectReader, interfaces: readonly UpstreamInterface[]): UpstreamCard {
  const capabilities = objectIn(card, 'capabilities');
  return {
    name: card.string('name') ?? '',
    description: card.string('description') ?? '',
    version: card.string('version') ?? '',
    skills: objectsIn(card, 'skills').map(readSkill),
    inputModes: card.strings('defaultInputModes') ?? [],
    outputModes: card.strings('defaultOutputModes') ?? [],
    extensions: objectsIn(capabilities, 'extensions').map(readExtension),
    streaming: flagIn(capabilities, 'streaming'),
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
    examples: skill.strings('examples', anyText),
    inputModes: skill.strings('inputModes'),
    outputModes: skill.strings('outputModes'),
  });
}

function readExtension(extension: ObjectReader): CardExtension {
  const uri = extension.string('uri') ?? '';
  const problem = uri === '' ? 'is required' : uriProblem(uri);
  if (problem !== undefined) extension.addViolation('uri', problem);
  return dropUndefined({
    uri,
    description: extension.string('description'),
    required: flagIn(extension, 'required') || undefined,
    params: extension.object('params'),
  });
}

const anyText = (): undefined => undefined;

const objectIn = (reader: ObjectReader, name: string): ObjectReader =>
  new ObjectReader(reader.object(name) ?? {}, reader.pathOf(name), reader.violations, reader.fieldCase);

/** The objects in a list; what is none is a violation. */
export function objectsIn(reader: ObjectReader, name: string): ObjectReader[] {
  return listIn(reader, name).flatMap((item, at) => {
    const path = `${name}[${at}]`;
    if (isObject(item)) return [new ObjectReader(item, reader.pathOf(path), reader.violations, reader.fieldCase)];
    reader.addViolation(path, 'must be an object');
    return [];
  });
}

/** The version that is spoken here of a `protocolVersion`, whose patch number says nothing to a client (A2A v1.0 section 3.6). */
export const supportedVersionOf = (version: string): ProtocolVersion | undefined =>
  PROTOCOL_VERSIONS.find((known) => version === known || version.startsWith(`${known}.`));
