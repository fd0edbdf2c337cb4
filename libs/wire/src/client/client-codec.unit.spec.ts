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
import type { CardDescription } from '../card-description.js';
import type { A2aClientCodec } from './client-codec.js';
import type { A2aCodec } from '../codec.js';
import type { SendRequest } from '../requests.js';
import { cardInterfaces, PROTOCOLS } from '../protocols.js';
import { STATUS_BY_STATE } from '../v1/task.codec.js';

const { '1.0': v1, '0.3': v03 } = PROTOCOLS;
const VERSIONS = [v1, v03].map(({ codec, client }) => ({ name: codec.version, codec, client }));

const state = evolveAll(null, RUNNING, NOW)!;
const ids = { taskId: 'task', contextId: state.contextId };
const anyStatus = fc.constantFrom(...STATUS_BY_STATE.values());
/** A message of an agent. Task ids belong to the server of the task, so they are omitted. */
const agentMessage = message.map((generated): Message => {
  const { referenceTaskIds: _, ...rest } = generated;
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

describe.each(VERSIONS)('The client of A2A $name', ({ codec, client }) => {
  const read = (update: Parameters<A2aCodec['encodeUpdate']>[0]) =>
    client.decodeUpdate(overTheWire(codec.encodeUpdate(update)));

  it('decodes the status that a server encodes', () => {
    fc.assert(
      fc.property(anyStatus, fc.option(agentMessage, { nil: undefined }), (status, sent) => {
        const optional = sent === undefined ? {} : { message: sent };
        expect(read({ type: 'status', ids, state: { ...state, status }, final: false, ...optional })).toEqual({
          type: 'status',
          ids,
          status: { state: status, timestamp: NOW, ...optional },
        });
      }),
    );
  });

  it('decodes the artifact chunk that a server encodes', () => {
    fc.assert(
      fc.property(artifact, fc.boolean(), fc.boolean(), (chunk, append, last) => {
        const update = { type: 'artifact', ids, artifact: chunk, append, last } as const;
        expect(read(update)).toEqual(update);
      }),
    );
  });

  it('decodes the direct message response that a server encodes', () => {
    fc.assert(
      fc.property(agentMessage, (sent) => {
        expect(read({ type: 'message', ids, message: sent })).toEqual({ type: 'message', message: sent });
      }),
    );
  });

  it('decodes the task that a server encodes, in a stream and in a response', () => {
    fc.assert(
      fc.property(
        anyStatus,
        fc.array(artifact, { maxLength: 3 }),
        fc.array(message, { maxLength: 2 }),
        (status, artifacts, history) => {
          const view: TaskView = {
            tenantId: 'tenant',
            taskId: 'task',
            state: { ...state, status },
            history,
            artifacts,
          };
          const task = {
            ...ids,
            status: { state: status, timestamp: NOW },
            artifacts,
            messageIds: history.map(({ messageId }) => messageId),
          };
          expect(read({ type: 'task', view })).toEqual({ type: 'task', task });
          const method = codec.methods.get(client.methods.get)!;
          const response = overTheWire(method.encode(view as never, { taskId: 'task' } as never));
          expect(client.decodeTask(response)).toEqual(task);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('rejects an invalid response and names the fields', () => {
    const invalid = (result: Json, decode: keyof A2aClientCodec = 'decodeUpdate') => {
      try {
        (client[decode] as (result: Json) => unknown)(result);
      } catch (error) {
        if (DomainError.is(error, 'InvalidParameters')) return error.details.violations.map(({ field }) => field);
        throw error;
      }
      return [];
    };
    const update = codec.encodeUpdate({ type: 'status', ids, state, final: false });
    const invalidState = JSON.parse(JSON.stringify(update).replace(/"state":"[^"]*"/, '"state":"dancing"')) as Json;
    for (const result of [null, 7, [], {}, invalidState]) expect(invalid(result)).not.toEqual([]);
    expect(invalid({ id: 'x' }, 'decodeTask')).toEqual(['task.status']);
    expect(
      invalid(
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

  it('accepts a status with a message that has no parts', () => {
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

describe.each(VERSIONS)('A send of a client of A2A $name', ({ codec, client }) => {
  it('is decoded by a server without a change', () => {
    fc.assert(
      fc.property(message, fc.boolean(), (outgoing, returnImmediately) => {
        const sent = client.encodeSend({
          message: outgoing,
          taskId: 'upstream-task',
          contextId: 'c',
          configuration: { returnImmediately, historyLength: 0 },
        });
        const method = codec.methods.get(client.methods.send)!;
        expect(method.decode(overTheWire(sent) as JsonObject) as SendRequest).toEqual({
          message: outgoing,
          taskId: 'upstream-task',
          contextId: 'c',
          configuration: { returnImmediately, historyLength: 0 },
        });
      }),
    );
  });
});

describe('A card that a client decodes', () => {
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
  const content = { name, description: 'Cooks', version, skills, inputModes, outputModes, extensions, streaming: true };

  it('has the same content as the card that a server encodes, in the shape of each version', () => {
    const { interfaces } = description;
    expect(v1.client.decodeCard(v1.codec.encodeCard(description))).toEqual({ ...content, interfaces });
    const legacy = interfaces.filter((entry) => entry.version === '0.3');
    expect(v03.client.decodeCard(v03.codec.encodeCard(description))).toEqual({ ...content, interfaces: legacy });
  });

  it('has the shape of one version only', () => {
    expect(v03.client.decodeCard(v1.codec.encodeCard(description))).toBeUndefined();
    expect(v1.client.decodeCard(v03.codec.encodeCard(description))).toBeUndefined();
    for (const none of [null, 'card', {}]) {
      expect([v1.client.decodeCard(none), v03.client.decodeCard(none)]).toEqual([undefined, undefined]);
    }
  });

  it('lists the interfaces of supported versions, whatever their patch number', () => {
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
