import type { A2aClientCodec, UpstreamUpdate } from '../client/client-codec.js';
import { isObject, memberOf, ObjectReader } from '../validation/object-reader.js';
import {
  decodeOrThrow,
  objectAt,
  objectsIn,
  readArtifactUpdate,
  readCard,
  readUpstreamMessage,
  readTask,
  readStatusUpdate,
  supportedVersionOf,
  type UpstreamFormat,
} from '../client/upstream-reader.js';
import { decodePart, encodeMessage } from './message.codec.js';
import { STATUS_BY_STATE } from './task.codec.js';

const dialect: UpstreamFormat = {
  spelling: 'either',
  userRole: 'ROLE_USER',
  agentRole: 'ROLE_AGENT',
  states: STATUS_BY_STATE,
  decodePart,
};

/** A client of A2A v1.0. */
export const client: A2aClientCodec = {
  version: '1.0',
  methods: {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    get: 'GetTask',
    cancel: 'CancelTask',
    subscribe: 'SubscribeToTask',
    list: 'ListTasks',
  },
  encodeSend: ({ message, taskId, contextId, returnImmediately }) => ({
    message: encodeMessage(message, { ...(contextId && { contextId }), ...(taskId && { taskId }) }),
    configuration: { returnImmediately, historyLength: 0 },
  }),
  // `StreamResponse` (section 4.2.3) and `SendMessageResponse`, of which it has both members.
  decodeUpdate: (result) =>
    decodeOrThrow((violations): UpstreamUpdate => {
      const { source } = objectAt(result, 'result', violations, dialect);
      const at = (name: string) => memberOf(source, name, dialect.spelling);
      const [task, message, status, artifact] = ['task', 'message', 'statusUpdate', 'artifactUpdate'].map(at);
      if (task !== undefined) return { type: 'task', task: readTask(task, 'task', violations, dialect) };
      if (status !== undefined) {
        return readStatusUpdate(objectAt(status, 'statusUpdate', violations, dialect), dialect);
      }
      if (artifact !== undefined) {
        return readArtifactUpdate(objectAt(artifact, 'artifactUpdate', violations, dialect), dialect);
      }
      if (message === undefined) violations.add('result', 'must have task, message, statusUpdate or artifactUpdate');
      return { type: 'message', message: readUpstreamMessage(message, 'message', violations, dialect) };
    }),
  decodeTask: (result) => decodeOrThrow((violations) => readTask(result, 'task', violations, dialect)),
  decodeTasks: (result) =>
    decodeOrThrow((violations) => {
      const page = objectAt(result, 'result', violations, dialect);
      return objectsIn(page, 'tasks').map(({ source, path }) => readTask(source, path, violations, dialect));
    }),
  decodeCard: (card) =>
    !isObject(card) || memberOf(card, 'supportedInterfaces', 'either') === undefined
      ? undefined
      : decodeOrThrow((violations) => {
          const reader = new ObjectReader(card, '', violations, 'either');
          const interfaces = objectsIn(reader, 'supportedInterfaces').flatMap((entry) => {
            const version = supportedVersionOf(entry.string('protocolVersion') ?? '');
            const tenant = entry.string('tenant');
            const [url = '', binding = ''] = [entry.string('url'), entry.string('protocolBinding')];
            return version === undefined
              ? []
              : [{ url, binding, version, ...(tenant === undefined ? {} : { tenant }) }];
          });
          return readCard(reader, interfaces);
        }),
};
