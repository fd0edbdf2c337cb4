import type { JsonObject } from '@app/domain';
import type { A2aClientCodec, OutgoingMessage, UpstreamUpdate } from '../client/client-codec.js';
import {
  decodeOrThrow,
  readArtifactUpdate,
  readCard,
  readObjects,
  readStatusUpdate,
  readTask,
  readUpstreamMessage,
  supportedVersionOf,
  type UpstreamFormat,
} from '../client/upstream-reader.js';
import { EXTENSIONS_HEADER } from '../transport/extensions.js';
import { isObject, memberOf, ObjectReader, requiredObject } from '../validation/object-reader.js';
import { ROLE_ENUM } from '../validation/proto-enum.js';
import { decodePart, encodeMessage } from './message.codec.js';
import { STATE_ENUM, STATUS_BY_STATE } from './task.codec.js';

const format: UpstreamFormat = {
  fieldCase: 'camel-or-snake',
  roles: ROLE_ENUM,
  userRole: 'ROLE_USER',
  agentRole: 'ROLE_AGENT',
  stateNames: STATE_ENUM,
  states: STATUS_BY_STATE,
  decodePart,
};
const { fieldCase } = format;

const encodeConfiguration = ({ acceptedOutputModes, ...rest }: OutgoingMessage['configuration']): JsonObject =>
  acceptedOutputModes?.length ? { acceptedOutputModes: [...acceptedOutputModes], ...rest } : rest;

/** The client side of A2A v1.0. */
export const client: A2aClientCodec = {
  version: '1.0',
  extensionsHeader: EXTENSIONS_HEADER,
  methods: {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    get: 'GetTask',
    cancel: 'CancelTask',
    subscribe: 'SubscribeToTask',
    list: 'ListTasks',
  },
  encodeSend: ({ message, taskId, contextId, metadata, configuration }) => ({
    message: encodeMessage(message, { ...(contextId && { contextId }), ...(taskId && { taskId }) }),
    configuration: encodeConfiguration(configuration),
    ...(metadata && { metadata }),
  }),
  // Decodes `StreamResponse` (section 4.2.3) and `SendMessageResponse`, which has two of its members.
  decodeUpdate: (result) =>
    decodeOrThrow((violations): UpstreamUpdate => {
      const response = requiredObject(result, 'result', violations, fieldCase);
      const [task, message] = [response.value('task'), response.value('message')];
      const [status, artifact] = [response.value('statusUpdate'), response.value('artifactUpdate')];
      if (task !== undefined) return { type: 'task', task: readTask(task, 'task', violations, format) };
      if (status !== undefined) {
        return readStatusUpdate(requiredObject(status, 'statusUpdate', violations, fieldCase), format);
      }
      if (artifact !== undefined) {
        return readArtifactUpdate(requiredObject(artifact, 'artifactUpdate', violations, fieldCase), format);
      }
      if (message === undefined) violations.add('result', 'must have task, message, statusUpdate or artifactUpdate');
      return { type: 'message', message: readUpstreamMessage(message, 'message', violations, format) };
    }),
  decodeTask: (result) => decodeOrThrow((violations) => readTask(result, 'task', violations, format)),
  decodeTasks: (result) =>
    decodeOrThrow((violations) => {
      const page = requiredObject(result, 'result', violations, fieldCase);
      return readObjects(page, 'tasks').map(({ source, path }) => readTask(source, path, violations, format));
    }),
  decodeCard: (card) =>
    !isObject(card) || memberOf(card, 'supportedInterfaces', fieldCase) === undefined
      ? undefined
      : decodeOrThrow((violations) => {
          const reader = new ObjectReader(card, '', violations, fieldCase);
          const interfaces = readObjects(reader, 'supportedInterfaces').flatMap((entry) => {
            const version = supportedVersionOf(entry.string('protocolVersion') ?? '');
            const tenant = entry.string('tenant');
            const [url = '', binding = ''] = [entry.string('url'), entry.string('protocolBinding')];
            if (version === undefined) return [];
            return [{ url, binding, version, ...(tenant === undefined ? {} : { tenant }) }];
          });
          return readCard(reader, interfaces);
        }),
};
