import type { JsonObject } from '@app/domain';
import type { A2aClientCodec, OutgoingMessage, UpstreamInterface, UpstreamUpdate } from '../client/client-codec.js';
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
import type { A2aTaskStatus } from '../requests.js';
import { LEGACY_EXTENSIONS_HEADER } from '../transport/extensions.js';
import { isObject, ObjectReader, requiredObject, withValue } from '../validation/object-reader.js';
import { encodeMessage } from './message.codec.js';
import { decodePart } from './part.codec.js';
import { STATES } from './task.codec.js';

const format: UpstreamFormat = {
  fieldCase: 'camel',
  userRole: 'user',
  agentRole: 'agent',
  states: new Map<string, A2aTaskStatus>([
    ...Object.entries(STATES).map(([status, state]) => [state, status as A2aTaskStatus] as const),
    // The agent does not know the state now. The task exists, and a later request can return its state.
    ['unknown', 'working'],
  ]),
  decodePart,
};

function encodeConfiguration({
  acceptedOutputModes,
  returnImmediately,
  historyLength,
}: OutgoingMessage['configuration']): JsonObject {
  const rest = { blocking: !returnImmediately, historyLength };
  return acceptedOutputModes?.length ? { acceptedOutputModes: [...acceptedOutputModes], ...rest } : rest;
}

/** The client side of A2A v0.3. */
export const client: A2aClientCodec = {
  version: '0.3',
  extensionsHeader: LEGACY_EXTENSIONS_HEADER,
  methods: {
    send: 'message/send',
    stream: 'message/stream',
    get: 'tasks/get',
    cancel: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
  },
  encodeSend: ({ message, taskId, contextId, metadata, configuration }) => ({
    message: encodeMessage(message, { ...(contextId && { contextId }), ...(taskId && { taskId }) }),
    configuration: encodeConfiguration(configuration),
    ...(metadata && { metadata }),
  }),
  decodeUpdate: (result) =>
    decodeOrThrow((violations): UpstreamUpdate => {
      const reader = requiredObject(result, 'result', violations, format.fieldCase);
      const kind = reader.value('kind');
      switch (kind) {
        case 'task':
          return { type: 'task', task: readTask(result, 'task', violations, format) };
        case 'status-update':
          return readStatusUpdate(reader, format);
        case 'artifact-update':
          return readArtifactUpdate(reader, format);
        case 'message':
          return { type: 'message', message: readUpstreamMessage(result, 'message', violations, format) };
        default:
          violations.add('kind', withValue('must be task, message, status-update or artifact-update', kind));
          return { type: 'task', task: readTask({}, 'task', violations, format) };
      }
    }),
  decodeTask: (result) => decodeOrThrow((violations) => readTask(result, 'task', violations, format)),
  decodeTasks: () => [],
  decodeCard: (card) =>
    !isObject(card) || typeof card['url'] !== 'string'
      ? undefined
      : decodeOrThrow((violations) => {
          const reader = new ObjectReader(card, '', violations, format.fieldCase);
          return readCard(reader, readInterfaces(reader));
        }),
};

/** Reads the main address and the additional ones of a card (v0.3 section 5.6). */
function readInterfaces(card: ObjectReader): UpstreamInterface[] {
  const version = supportedVersionOf(card.string('protocolVersion') ?? '0.3');
  if (version !== '0.3') return [];
  const main = { url: card.string('url') ?? '', binding: card.string('preferredTransport') ?? 'JSONRPC', version };
  const others = readObjects(card, 'additionalInterfaces').map((entry) => {
    const [url = '', binding = ''] = [entry.string('url'), entry.string('transport')];
    return { url, binding, version };
  });
  return [main, ...others.filter(({ url, binding }) => url !== main.url || binding !== main.binding)];
}
