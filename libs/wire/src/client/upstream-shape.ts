import type { ArtifactView, Json } from '@app/domain';
import type { CardExtension, CardSkill } from '../card-description.js';
import type { RemoteCard, RemoteIds, RemoteInterface, RemoteStatus, RemoteTask, RemoteUpdate } from './client-codec.js';
import { readMessage, readParts, type Dialect } from '../validation/message-shape.js';
import { isObject, ObjectReader, uriProblem, Violations, withoutAbsent } from '../validation/object-reader.js';
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../transport/version.js';

/** What differs between the versions in what an agent answers. */
export interface RemoteDialect extends Dialect {
  readonly agentRole: string;
  readonly states: ReadonlyMap<string, RemoteStatus['state']>;
}

/** Reads with the violations checked at the end: InvalidParameters names all that is wrong. */
export function decoding<T>(read: (violations: Violations) => T): T {
  const violations = new Violations();
  const value = read(violations);
  violations.check();
  return value;
}

export function objectAt(
  source: Json | undefined,
  path: string,
  violations: Violations,
  { spelling }: Dialect,
): ObjectReader {
  if (isObject(source)) return new ObjectReader(source, path, violations, spelling);
  violations.add(path, source === undefined || source === null ? 'is required' : 'must be an object');
  return new ObjectReader({}, path, new Violations(), spelling);
}

export function readRemoteTask(
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: RemoteDialect,
): RemoteTask {
  const task = objectAt(source, path, violations, dialect);
  const artifacts = listIn(task, 'artifacts').map((artifact, at) =>
    readArtifact(artifact, task.at(`artifacts[${at}]`), task.violations, dialect),
  );
  return {
    ...idsIn(task, 'id'),
    status: readStatus(task.raw('status'), task.at('status'), task.violations, dialect),
    artifacts,
    // All that is needed of it; a message in it that could not be read would be no reason to give the task up.
    messageIds: listIn(task, 'history').flatMap((message) => {
      const id = isObject(message)
        ? new ObjectReader(message, '', violations, dialect.spelling).raw('messageId')
        : null;
      return typeof id === 'string' ? [id] : [];
    }),
  };
}

export function readStatusUpdate(update: ObjectReader, dialect: RemoteDialect): RemoteUpdate {
  const status = readStatus(update.raw('status'), update.at('status'), update.violations, dialect);
  return { type: 'status', ids: idsIn(update, 'taskId'), status };
}

export function readArtifactUpdate(update: ObjectReader, dialect: RemoteDialect): RemoteUpdate {
  return {
    type: 'artifact',
    ids: idsIn(update, 'taskId'),
    artifact: readArtifact(update.raw('artifact'), update.at('artifact'), update.violations, dialect),
    append: flagIn(update, 'append'),
    last: flagIn(update, 'lastChunk'),
  };
}

export const readRemoteMessage = (
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: RemoteDialect,
) => readMessage(source, violations, dialect, path).message;

function idsIn(reader: ObjectReader, name: string): RemoteIds {
  const taskId = reader.requiredId(name);
  const contextId = reader.id('contextId');
  return contextId === undefined ? { taskId } : { taskId, contextId };
}

function readStatus(
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: RemoteDialect,
): RemoteStatus {
  const status = objectAt(source, path, violations, dialect);
  const word = status.raw('state');
  const state = typeof word === 'string' ? dialect.states.get(word) : undefined;
  if (state === undefined) status.wrong('state', `must be one of ${[...dialect.states.keys()].join(', ')}`);
  const message = status.raw('message');
  // Some agents report with a message that says nothing.
  const said = message !== undefined && !(isObject(message) && isEmptyList(message['parts']));
  return withoutAbsent({
    state: state ?? 'working',
    message: said ? readRemoteMessage(message, status.at('message'), status.violations, dialect) : undefined,
    timestamp: status.string('timestamp'),
  });
}

const isEmptyList = (parts: Json | undefined): boolean =>
  parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0);

function readArtifact(
  source: Json | undefined,
  path: string,
  violations: Violations,
  dialect: RemoteDialect,
): ArtifactView {
  const artifact = objectAt(source, path, violations, dialect);
  return withoutAbsent({
    artifactId: artifact.requiredId('artifactId'),
    name: artifact.string('name'),
    description: artifact.string('description'),
    parts: readParts(artifact, dialect),
    metadata: artifact.object('metadata'),
    extensions: artifact.strings('extensions', uriProblem),
  });
}

function listIn(reader: ObjectReader, name: string): Json[] {
  const value = reader.raw(name);
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  reader.wrong(name, 'must be an array');
  return [];
}

function flagIn(reader: ObjectReader, name: string): boolean {
  const value = reader.raw(name);
  if (value !== undefined && typeof value !== 'boolean') reader.wrong(name, 'must be true or false');
  return value === true;
}

/** What the cards of both versions say alike. */
export function readCard(card: ObjectReader, interfaces: readonly RemoteInterface[]): RemoteCard {
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
  return withoutAbsent({
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
  if (problem !== undefined) extension.wrong('uri', problem);
  return withoutAbsent({
    uri,
    description: extension.string('description'),
    required: flagIn(extension, 'required') || undefined,
    params: extension.object('params'),
  });
}

const anyText = (): undefined => undefined;

const objectIn = (reader: ObjectReader, name: string): ObjectReader =>
  new ObjectReader(reader.object(name) ?? {}, reader.at(name), reader.violations, reader.spelling);

/** The objects in a list; what is none is a violation. */
export function objectsIn(reader: ObjectReader, name: string): ObjectReader[] {
  return listIn(reader, name).flatMap((item, at) => {
    const path = `${name}[${at}]`;
    if (isObject(item)) return [new ObjectReader(item, reader.at(path), reader.violations, reader.spelling)];
    reader.wrong(path, 'must be an object');
    return [];
  });
}

/** The version that is spoken here of a `protocolVersion`, whose patch number says nothing to a client (A2A v1.0 section 3.6). */
export const spokenVersion = (version: string): ProtocolVersion | undefined =>
  PROTOCOL_VERSIONS.find((known) => version === known || version.startsWith(`${known}.`));
