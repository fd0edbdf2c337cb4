import type {
  ArtifactView,
  Json,
  JsonObject,
  Message,
  Part,
  TaskState,
  TaskStatus,
  TaskView,
  ViewPart,
} from '@app/domain';
import type { CardDescription } from '../card-description.js';
import { readMessage, encodeOptionalFields, type ReceivedMessage } from '../validation/message-reader.js';
import { isObject, memberOf, ObjectReader, type Violations } from '../validation/object-reader.js';
import type { PushConfig } from '../requests.js';
import type { StreamUpdate } from '../stream-update.js';
import { recentHistory, taskMetadata } from '../task-metadata.js';
import { encodeCard as encodeRpcCard } from './agent-card.js';
import { embedInMetadata, extractFromMetadata } from './embedded-metadata.js';
import { encodePart as encodeRpcPart, readData, readFile, readPart } from './part.codec.js';
import { encodePushConfig as encodeRpcPushConfig } from './push.codec.js';

/*
 * The bodies of v0.3's HTTP+JSON binding: ProtoJSON of the v0.3 proto (specification/grpc/a2a.proto), whose messages have other names
 * and nest otherwise than the JSON Schema of its JSON-RPC binding. Parts have metadata and files have names, as in the proto of the SDKs;
 * a message has no place for the tasks that it refers to, so they travel in its metadata.
 */

const REFERENCES = 'acta/referenceTaskIds';

const STATES: Record<Exclude<TaskStatus, 'replied'>, string> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  rejected: 'TASK_STATE_REJECTED',
  // With two l, unlike anywhere else.
  canceled: 'TASK_STATE_CANCELLED',
};

/** Reads the message of a send, `request` in the proto and `message` in its JSON. What is wrong goes to `violations`. */
export function decodeMessage(params: JsonObject, violations: Violations): ReceivedMessage {
  const source = memberOf(params, 'message', 'either') ?? memberOf(params, 'request', 'either');
  return readMessage(withReferences(source), violations, {
    fieldCase: 'camel-or-snake',
    userRole: 'ROLE_USER',
    partsName: 'content',
    decodePart,
  });
}

function withReferences(source: Json | undefined): Json | undefined {
  if (!isObject(source) || !isObject(source['metadata'])) return source;
  const { own, extra } = extractFromMetadata(source['metadata'], [REFERENCES]);
  const { metadata: _, ...rest } = source;
  const references = extra[REFERENCES];
  return {
    ...rest,
    ...(references === undefined ? {} : { referenceTaskIds: references }),
    ...(own === undefined ? {} : { metadata: own }),
  };
}

const decodePart = (source: Json, message: ObjectReader, name: string): Part =>
  readPart(source, message, name, (part, extra) => {
    const present = ['text', 'file', 'data'].filter((content) => part.value(content) !== undefined);
    if (present.length !== 1) {
      message.addViolation(name, 'must have exactly one of text, file and data');
      return {};
    }
    if (present[0] === 'text') return { text: part.string('text', 'kept') };
    if (present[0] === 'file') return readFile(part, { bytes: 'fileWithBytes', uri: 'fileWithUri' });
    const data = part.value('data');
    if (isObject(data)) return readData(new ObjectReader(data, part.pathOf('data'), part.violations, 'either'), extra);
    part.addViolation('data', 'must be an object');
    return {};
  });

function encodePart(part: ViewPart): JsonObject {
  const { kind: _kind, file, data, ...rest } = encodeRpcPart(part);
  if (data !== undefined) return { data: { data }, ...rest };
  if (!isObject(file)) return rest;
  const { bytes, uri, ...names } = file;
  return { file: { ...(bytes === undefined ? { fileWithUri: uri! } : { fileWithBytes: bytes }), ...names }, ...rest };
}

/** `taskId` is left out for a bare reply, which belongs to no task. */
function encodeMessage(message: Message, ids: { contextId: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, metadata, referenceTaskIds, ...rest } = message;
  const extra: JsonObject = referenceTaskIds?.length ? { [REFERENCES]: referenceTaskIds } : {};
  return {
    messageId,
    ...ids,
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    content: parts.map(encodePart),
    ...embedInMetadata(metadata, extra, [REFERENCES]),
    ...encodeOptionalFields(rest),
  };
}

const encodeArtifact = ({ artifactId, parts, ...rest }: ArtifactView): JsonObject => ({
  artifactId,
  parts: parts.map(encodePart),
  ...encodeOptionalFields(rest),
});

/** A task that ended in a bare reply is none: asking for one is a bug. */
export function encodeTask(view: TaskView, historyLength?: number): JsonObject {
  const { taskId, state } = view;
  const ids = { contextId: state.contextId, taskId };
  const history = recentHistory(view, historyLength);
  const metadata = taskMetadata(view);
  return {
    id: taskId,
    contextId: state.contextId,
    status: encodeStatus(state, ids, view.statusMessage),
    ...(view.artifacts.length > 0 ? { artifacts: view.artifacts.map(encodeArtifact) } : {}),
    ...(history.length > 0 ? { history: history.map((message) => encodeMessage(message, ids)) } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function encodeStatus(
  { status, statusAt }: TaskState,
  ids: { contextId: string; taskId: string },
  message: Message | undefined,
): JsonObject {
  if (status === 'replied') {
    throw new Error(`task ${ids.taskId} ended in a bare reply, which A2A never shows as a task`);
  }
  return {
    state: STATES[status],
    ...(message === undefined ? {} : { message: encodeMessage(message, ids) }),
    timestamp: statusAt,
  };
}

/** `SendMessageResponse`: the task, or the message of a bare reply. */
export function encodeSendResult(view: TaskView, historyLength?: number): JsonObject {
  if (view.state.status !== 'replied') return { task: encodeTask(view, historyLength) };
  if (view.statusMessage === undefined) throw new Error(`task ${view.taskId} was replied to without a message`);
  return { message: encodeMessage(view.statusMessage, { contextId: view.state.contextId }) };
}

/** One `StreamResponse`. */
export function encodeUpdate(update: StreamUpdate): JsonObject {
  switch (update.type) {
    case 'task':
      return { task: encodeTask(update.view, update.historyLength) };
    case 'message':
      return { message: encodeMessage(update.message, { contextId: update.ids.contextId }) };
    case 'status': {
      const { ids, state, message, final } = update;
      return { statusUpdate: { ...ids, status: encodeStatus(state, ids, message), final } };
    }
    case 'artifact': {
      const { ids, artifact, append, last } = update;
      return { artifactUpdate: { ...ids, artifact: encodeArtifact(artifact), append, lastChunk: last } };
    }
  }
}

/** `TaskPushNotificationConfig`, whose ids are a resource name. */
export function encodePushConfig(config: PushConfig): JsonObject {
  const { taskId: _, ...rest } = encodeRpcPushConfig(config);
  return { name: `tasks/${config.taskId ?? ''}/pushNotificationConfigs/${config.id ?? ''}`, ...rest };
}

/** `AgentCard`, which differs from that of the JSON Schema in capabilities and security alone. */
export function encodeCard(card: CardDescription): JsonObject {
  const { securitySchemes: _schemes, security: _security, capabilities, ...rest } = encodeRpcCard(card);
  const { stateTransitionHistory: _, ...proto } = capabilities as JsonObject;
  return {
    ...rest,
    capabilities: proto,
    ...(card.authentication === 'none'
      ? {}
      : {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
          security: [{ schemes: { bearer: { list: [] } } }],
        }),
  };
}
