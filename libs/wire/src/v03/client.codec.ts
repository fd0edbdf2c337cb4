import type { A2aClientCodec, UpstreamInterface, UpstreamStatus, UpstreamUpdate } from '../client/client-codec.js';
import { isObject, ObjectReader } from '../validation/object-reader.js';
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
import { encodeMessage } from './message.codec.js';
import { decodePart } from './part.codec.js';

const STATES: readonly UpstreamStatus['state'][] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'rejected',
  'canceled',
];

const dialect: UpstreamFormat = {
  spelling: 'camel',
  userRole: 'user',
  agentRole: 'agent',
  // v0.3 has a state for "cannot be told now": the task is there, and whoever asks again may learn more.
  states: new Map<string, UpstreamStatus['state']>([
    ...STATES.map((state) => [state, state] as const),
    ['unknown', 'working'],
  ]),
  decodePart,
};

/** A client of A2A v0.3. */
export const client: A2aClientCodec = {
  version: '0.3',
  methods: {
    send: 'message/send',
    stream: 'message/stream',
    get: 'tasks/get',
    cancel: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
  },
  encodeSend: ({ message, taskId, contextId, returnImmediately }) => ({
    message: encodeMessage(message, { ...(contextId && { contextId }), ...(taskId && { taskId }) }),
    configuration: { blocking: !returnImmediately, historyLength: 0 },
  }),
  decodeUpdate: (result) =>
    decodeOrThrow((violations): UpstreamUpdate => {
      const reader = objectAt(result, 'result', violations, dialect);
      switch (reader.value('kind')) {
        case 'task':
          return { type: 'task', task: readTask(result, 'task', violations, dialect) };
        case 'status-update':
          return readStatusUpdate(reader, dialect);
        case 'artifact-update':
          return readArtifactUpdate(reader, dialect);
        case 'message':
          return { type: 'message', message: readUpstreamMessage(result, 'message', violations, dialect) };
        default:
          violations.add('kind', 'must be task, message, status-update or artifact-update');
          return { type: 'task', task: readTask({}, 'task', violations, dialect) };
      }
    }),
  decodeTask: (result) => decodeOrThrow((violations) => readTask(result, 'task', violations, dialect)),
  decodeTasks: () => [],
  decodeCard: (card) =>
    !isObject(card) || typeof card['url'] !== 'string'
      ? undefined
      : decodeOrThrow((violations) => {
          const reader = new ObjectReader(card, '', violations, 'camel');
          return readCard(reader, interfacesIn(reader));
        }),
};

/** The main address, then the others that the card lists (v0.3 section 5.6). */
function interfacesIn(card: ObjectReader): UpstreamInterface[] {
  const version = supportedVersionOf(card.string('protocolVersion') ?? '0.3');
  if (version !== '0.3') return [];
  const main = { url: card.string('url') ?? '', binding: card.string('preferredTransport') ?? 'JSONRPC', version };
  const others = objectsIn(card, 'additionalInterfaces').map((entry) => {
    const [url = '', binding = ''] = [entry.string('url'), entry.string('transport')];
    return { url, binding, version };
  });
  return [main, ...others.filter(({ url, binding }) => url !== main.url || binding !== main.binding)];
}
