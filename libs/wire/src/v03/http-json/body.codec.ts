import type { Json, JsonObject, Message, Part, ViewPart } from '@app/domain';
import type { CardDescription } from '../../card-description.js';
import { encodeOptionalFields } from '../../task/message-fields.js';
import type { A2aTaskStatus, PushConfig } from '../../requests.js';
import type { StreamUpdate } from '../../task/stream-update.js';
import { TaskEncoder } from '../../task/task-encoder.js';
import { readMessage, type ReceivedMessage } from '../../validation/message-reader.js';
import { isObject, memberOf, ObjectReader, type Violations, withValue } from '../../validation/object-reader.js';
import { ROLE_ENUM } from '../../validation/proto-enum.js';
import { encodeCard as encodeRpcCard } from '../agent-card.js';
import { embedInMetadata, extractFromMetadata } from '../embedded-metadata.js';
import { encodePart as encodeRpcPart, readData, readFile, readPart } from '../part.codec.js';
import { encodePushConfig as encodeRpcPushConfig } from '../push.codec.js';

/*
 * The bodies of v0.3's HTTP+JSON binding: ProtoJSON of the v0.3 proto (specification/grpc/a2a.proto), whose names and nesting differ
 * from the JSON Schema of its JSON-RPC binding. Parts have metadata and files have names, as in the proto of the SDKs. A message
 * has no field for the tasks that it refers to, so their ids are embedded in its metadata.
 */

const REFERENCES = 'acta/referenceTaskIds';

const STATES: Record<A2aTaskStatus, string> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  rejected: 'TASK_STATE_REJECTED',
  // Only this proto spells it with two l.
  canceled: 'TASK_STATE_CANCELLED',
};

/** Reads the message of a send: `request` in the proto, `message` in its JSON. Errors are added to `violations`. */
export function decodeMessage(params: JsonObject, violations: Violations): ReceivedMessage {
  const message = memberOf(params, 'message', 'camel-or-snake');
  const request = memberOf(params, 'request', 'camel-or-snake');
  if (message !== undefined && request !== undefined) {
    violations.add('message', 'is sent twice, also as request; send it once');
  }
  return readMessage(withReferences(message ?? request), violations, {
    fieldCase: 'camel-or-snake',
    roles: ROLE_ENUM,
    userRole: 'ROLE_USER',
    partsName: 'content',
    decodePart,
  });
}

function withReferences(source: Json | undefined): Json | undefined {
  if (!isObject(source) || !isObject(source['metadata'])) return source;
  const { original, fields } = extractFromMetadata(source['metadata'], [REFERENCES]);
  const { metadata: _, ...rest } = source;
  const references = fields[REFERENCES];
  return {
    ...rest,
    ...(references === undefined ? {} : { referenceTaskIds: references }),
    ...(original === undefined ? {} : { metadata: original }),
  };
}

const decodePart = (source: Json, message: ObjectReader, name: string): Part =>
  readPart(source, message, name, (part, fields) => {
    const present = ['text', 'file', 'data'].filter((content) => part.value(content) !== undefined);
    if (present.length !== 1) {
      message.addViolation(name, 'must have exactly one of text, file and data');
      return {};
    }
    if (present[0] === 'text') return { text: part.string('text', 'kept') };
    if (present[0] === 'file') return readFile(part, { bytes: 'fileWithBytes', uri: 'fileWithUri' });
    const data = part.value('data');
    if (isObject(data)) {
      return readData(new ObjectReader(data, part.pathOf('data'), part.violations, part.fieldCase), fields);
    }
    part.addViolation('data', withValue('must be an object', data));
    return {};
  });

function encodePart(part: ViewPart): JsonObject {
  const { kind: _kind, file, data, ...rest } = encodeRpcPart(part);
  if (data !== undefined) return { data: { data }, ...rest };
  if (!isObject(file)) return rest;
  const { bytes, uri, ...names } = file;
  return { file: { ...(bytes === undefined ? { fileWithUri: uri! } : { fileWithBytes: bytes }), ...names }, ...rest };
}

/** Encodes a message. `taskId` is absent for a direct message response, which belongs to no task. */
function encodeMessage(message: Message, ids: { contextId: string; taskId?: string }): JsonObject {
  const { messageId, role, parts, metadata, referenceTaskIds, ...optional } = message;
  const fields: JsonObject = referenceTaskIds?.length ? { [REFERENCES]: referenceTaskIds } : {};
  return {
    messageId,
    ...ids,
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    content: parts.map(encodePart),
    ...embedInMetadata(metadata, fields, [REFERENCES]),
    ...encodeOptionalFields(optional),
  };
}

/** Encodes `Task` and `SendMessageResponse`. */
export const taskEncoder = new TaskEncoder({ states: STATES, encodePart, encodeMessage });

/** Encodes a `StreamResponse`. */
export function encodeUpdate(update: StreamUpdate): JsonObject {
  switch (update.type) {
    case 'task':
      return { task: taskEncoder.task(update.view, { historyLength: update.historyLength }) };
    case 'message':
      return { message: encodeMessage(update.message, { contextId: update.ids.contextId }) };
    case 'status': {
      const { ids, state, message, final } = update;
      return { statusUpdate: { ...ids, status: taskEncoder.status(state, ids, message), final } };
    }
    case 'artifact': {
      const { ids, artifact, append, last } = update;
      return { artifactUpdate: { ...ids, artifact: taskEncoder.artifact(artifact), append, lastChunk: last } };
    }
  }
}

/** Encodes a `TaskPushNotificationConfig`, whose ids form a resource name. */
export function encodePushConfig(config: PushConfig): JsonObject {
  const { taskId: _, ...rest } = encodeRpcPushConfig(config);
  return { name: `tasks/${config.taskId ?? ''}/pushNotificationConfigs/${config.id ?? ''}`, ...rest };
}

/**
 * Encodes an `AgentCard`. Clients read it as the JSON Schema or as ProtoJSON of the proto, so a security scheme has the members of
 * both, and the capabilities have only those of both.
 */
export function encodeCard(card: CardDescription): JsonObject {
  const { capabilities, securitySchemes, ...rest } = encodeRpcCard(card);
  const { stateTransitionHistory: _, ...protoCapabilities } = capabilities as JsonObject;
  const { bearer } = (securitySchemes ?? {}) as { bearer?: JsonObject };
  return {
    ...rest,
    capabilities: protoCapabilities,
    ...(bearer === undefined
      ? {}
      : { securitySchemes: { bearer: { ...bearer, httpAuthSecurityScheme: { scheme: bearer['scheme']! } } } }),
  };
}
