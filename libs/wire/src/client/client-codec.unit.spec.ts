import { describe, expect, it } from '@jest/globals';
import {
  type ArtifactView,
  DomainError,
  evolveAll,
  type Json,
  type JsonObject,
  type Message,
  type TaskView,
} from '@app/domain';
import fc from 'fast-check';
import { RUNNING } from '../../../../test/support/tasks.js';
import { NOW } from '../../../../test/support/decider-spec.js';
import { message, metadata, part } from '../../../../test/support/clients/wire-content.js';
import { type CardDescription, cardInterfaces } from '../card-description.js';
import type { A2aClientCodec, UpstreamStatus } from './client-codec.js';
import type { A2aCodec } from '../codec.js';
import type { SendRequest } from '../requests.js';
import { v03, v1 } from '../index.js';

const VERSIONS = [v1, v03].map(({ codec, client }) => ({ name: codec.version, codec, client }));

const state = evolveAll(null, RUNNING, NOW)!;
const ids = { taskId: 'task', contextId: state.contextId };
const STATES: UpstreamStatus['state'][] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'rejected',
  'canceled',
];
const status = fc.constantFrom(...STATES);
/** Ids of tasks are the receiver's own and stay behind. */
const spoken = message.map((said): Message => {
  const { referenceTaskIds: _mine, ...rest } = said;
  return { ...rest, role: 'agent' };
});
const artifact: fc.Arbitrary<ArtifactView> = fc.record(
  {
    artifactId: fc.uuid(),
    name: fc.string({ unit: 'grapheme', minLength: 1 }),
    description: fc.string({ unit: 'grapheme', minLength: 1 }),
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    metadata,
    extensions: fc.array(fc.webUrl(), { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ['artifactId', 'parts'] },
);
const overTheWire = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;

describe.each(VERSIONS)('an answer of A2A $name, read by a client', ({ codec, client }) => {
  const read = (update: Parameters<A2aCodec['encodeUpdate']>[0]) =>
    client.decodeUpdate(overTheWire(codec.encodeUpdate(update)));

  it('is the status that the agent told', () => {
    fc.assert(
      fc.property(status, fc.option(spoken, { nil: undefined }), (now, said) => {
        const told = said === undefined ? {} : { message: said };
        expect(read({ type: 'status', ids, state: { ...state, status: now }, final: false, ...told })).toEqual({
          type: 'status',
          ids,
          status: { state: now, timestamp: NOW, ...told },
        });
      }),
    );
  });

  it('is the artifact chunk that the agent told', () => {
    fc.assert(
      fc.property(artifact, fc.boolean(), fc.boolean(), (chunk, append, last) => {
        const update = { type: 'artifact', ids, artifact: chunk, append, last } as const;
        expect(read(update)).toEqual(update);
      }),
    );
  });

  it('is the bare message that the agent told', () => {
    fc.assert(
      fc.property(spoken, (said) => {
        expect(read({ type: 'message', ids, message: said })).toEqual({ type: 'message', message: said });
      }),
    );
  });

  it('is the task, in a stream and in an answer of its own', () => {
    fc.assert(
      fc.property(
        status,
        fc.array(artifact, { maxLength: 3 }),
        fc.array(message, { maxLength: 2 }),
        (now, made, said) => {
          const view: TaskView = {
            tenantId: 'tenant',
            taskId: 'task',
            state: { ...state, status: now },
            history: said,
            artifacts: made,
          };
          const task = {
            ...ids,
            status: { state: now, timestamp: NOW },
            artifacts: made,
            messageIds: said.map(({ messageId }) => messageId),
          };
          expect(read({ type: 'task', view })).toEqual({ type: 'task', task });
          const method = codec.methods.get(client.methods.get)!;
          const answer = overTheWire(method.encode(view as never, { taskId: 'task' } as never));
          expect(client.decodeTask(answer)).toEqual(task);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is refused with what is wrong in it', () => {
    const wrong = (result: Json, decode: keyof A2aClientCodec = 'decodeUpdate') => {
      try {
        (client[decode] as (result: Json) => unknown)(result);
      } catch (error) {
        if (DomainError.is(error, 'InvalidParameters')) return error.details.violations.map(({ field }) => field);
        throw error;
      }
      return [];
    };
    const update = codec.encodeUpdate({ type: 'status', ids, state, final: false });
    const spoilt = JSON.parse(JSON.stringify(update).replace(/"state":"[^"]*"/, '"state":"dancing"')) as Json;
    for (const result of [null, 7, [], {}, spoilt]) expect(wrong(result)).not.toEqual([]);
    expect(wrong({ id: 'x' }, 'decodeTask')).toEqual(['task.status']);
    expect(
      wrong(
        overTheWire(
          codec.encodeUpdate({
            type: 'artifact',
            ids,
            artifact: { artifactId: 'a', parts: [] },
            append: false,
            last: false,
          }),
        ),
      ),
    ).toEqual([expect.stringMatching(/artifact\.parts$/)]);
  });

  it('may report with a message that says nothing', () => {
    const update = read({
      type: 'status',
      ids,
      state,
      message: { messageId: 'm', role: 'agent', parts: [] },
      final: false,
    });
    expect(update).toEqual({ type: 'status', ids, status: { state: 'working', timestamp: NOW } });
  });
});

describe.each(VERSIONS)('a send of A2A $name, written by a client', ({ codec, client }) => {
  it('is what the agent reads', () => {
    fc.assert(
      fc.property(message, fc.boolean(), (said, returnImmediately) => {
        const sent = client.encodeSend({ message: said, taskId: 'theirs', contextId: 'c', returnImmediately });
        const method = codec.methods.get(client.methods.send)!;
        expect(method.decode(overTheWire(sent) as JsonObject) as SendRequest).toEqual({
          message: said,
          taskId: 'theirs',
          contextId: 'c',
          configuration: { returnImmediately, historyLength: 0 },
        });
      }),
    );
  });
});

describe('a card, read by a client', () => {
  const description: CardDescription = {
    name: 'Recipes',
    description: 'Cooks',
    version: '2.1.0',
    skills: [{ id: 'cook', name: 'Cook', description: 'cooks', tags: ['food'], examples: ['an egg,\nsoft'] }],
    inputModes: ['text/plain'],
    outputModes: ['text/plain', 'image/png'],
    extensions: [{ uri: 'urn:x', required: true }],
    interfaces: cardInterfaces('https://cook.example', ['JSONRPC', 'HTTP+JSON']),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    authentication: 'bearer',
  };
  const { name, version, skills, inputModes, outputModes, extensions } = description;
  const said = { name, description: 'Cooks', version, skills, inputModes, outputModes, extensions, streaming: true };

  it('says the same as the agent wrote, in each version’s shape', () => {
    const { interfaces } = description;
    expect(v1.client.decodeCard(v1.codec.encodeCard(description))).toEqual({ ...said, interfaces });
    const old = interfaces.filter((entry) => entry.version === '0.3');
    expect(v03.client.decodeCard(v03.codec.encodeCard(description))).toEqual({ ...said, interfaces: old });
  });

  it('is of one version’s shape only', () => {
    expect(v03.client.decodeCard(v1.codec.encodeCard(description))).toBeUndefined();
    expect(v1.client.decodeCard(v03.codec.encodeCard(description))).toBeUndefined();
    for (const none of [null, 'card', {}]) {
      expect([v1.client.decodeCard(none), v03.client.decodeCard(none)]).toEqual([undefined, undefined]);
    }
  });

  it('lists what is spoken here, whatever its patch number', () => {
    const versions = ['1.0', '1.0.3', '0.3.0', '1.1', '2.0', ''];
    const supportedInterfaces = versions.map((protocolVersion) => ({
      url: '/a',
      protocolBinding: 'JSONRPC',
      protocolVersion,
    }));
    const card = v1.client.decodeCard({ name: 'x', supportedInterfaces });
    expect(card?.interfaces.map((entry) => entry.version)).toEqual(['1.0', '1.0', '0.3']);
    expect(v03.client.decodeCard({ url: 'https://x.example/' })?.interfaces).toEqual([
      { url: 'https://x.example/', binding: 'JSONRPC', version: '0.3' },
    ]);
  });
});
