import { describe, expect, it } from '@jest/globals';
import {
  encodedBytes,
  TaskFold,
  type Json,
  type JsonObject,
  type Message,
  type TaskView,
  viewBytes,
} from '@app/domain';
import fc from 'fast-check';
import { message } from '../../../test/support/clients/wire-content.js';
import type { A2aCodec } from './codec.js';
import type { Method, SendRequest } from './requests.js';
import { v03, v1 } from './index.js';

/** A task that was sent this one message. */
function taskOf(sent: Message) {
  const at = { recordedAt: '2026-01-01T00:00:00.000Z' };
  return new TaskFold('tenant', 'task')
    .add({
      type: 'TaskSubmitted',
      facts: { contextId: 'context', ring: 'ring:a', owner: 'owner', agent: 'agent', acknowledged: true },
      version: 1,
      ...at,
    })
    .add({
      type: 'MessageAccepted',
      facts: { messageId: sent.messageId, parts: sent.parts.length, bytes: 1 },
      content: { message: sent },
      version: 2,
      ...at,
    })
    .view();
}

/** One binding of one version: how it writes a task, and how it reads what is sent. */
interface Wire {
  readonly name: string;
  encodeTask(view: TaskView): Json;
  decodeSend(params: JsonObject): unknown;
}

const rpc = (codec: A2aCodec, send: string): Wire => ({
  name: `JSON-RPC ${codec.version}`,
  encodeTask: (view) => codec.encodeUpdate({ type: 'task', view }),
  decodeSend: (params) => codec.methods.get(send)?.decode(params),
});
const httpJson = ({ version, http }: A2aCodec): Wire => ({
  name: `HTTP+JSON ${version}`,
  encodeTask: (view) => http.encodeUpdate({ type: 'task', view }),
  decodeSend: (params) => http.route('POST', 'message:send').method.decode(params),
});

const RPC_1 = rpc(v1.codec, 'SendMessage');
const RPC_03 = rpc(v03.codec, 'message/send');
const HTTP_03 = httpJson(v03.codec);

/** The message as a client gets it from the task's history, over the wire. */
function shown(wire: Wire, sent: Message): JsonObject {
  const update = wire.encodeTask(taskOf(sent)) as JsonObject;
  const task = (update['task'] ?? update) as { history: JsonObject[] };
  return JSON.parse(JSON.stringify(task.history[0])) as JsonObject;
}

/** What a client sends when it sends that message again. */
const resent = (wire: Wire, said: JsonObject): SendRequest => wire.decodeSend({ message: said }) as SendRequest;

describe.each([RPC_1, RPC_03, httpJson(v1.codec), HTTP_03])('content through $name', (wire) => {
  // F30
  it('is the same after a round trip', () => {
    fc.assert(
      fc.property(message, (sent) => {
        const request = resent(wire, shown(wire, sent));
        expect(request.message).toEqual(sent);
        expect(JSON.stringify(request.message.parts)).toBe(
          JSON.stringify(resent(wire, shown(wire, request.message)).message.parts),
        );
        expect(request).toMatchObject({ taskId: 'task', contextId: 'context' });
      }),
      { numRuns: 1000 },
    );
  });
});

describe('content through both versions', () => {
  // F30
  it('is the same when a v0.3 client sends it on and a v1.0 client reads it', () => {
    fc.assert(
      fc.property(message, (sent) => {
        for (const wire of [RPC_03, HTTP_03]) {
          const through03 = resent(wire, shown(wire, sent)).message;
          expect(resent(RPC_1, shown(RPC_1, through03)).message).toEqual(sent);
        }
      }),
      { numRuns: 500 },
    );
  });

  // F30
  it('has v0.3 file, data and text parts in v1.0 words', () => {
    const { message: sent } = resent(RPC_03, {
      kind: 'message',
      messageId: 'm',
      role: 'user',
      parts: [
        { kind: 'text', text: 'hi', metadata: { a: 1 } },
        { kind: 'file', file: { bytes: 'aGk=', name: 'hi.txt', mimeType: 'text/plain' } },
        { kind: 'file', file: { uri: 'https://x.test/y', mimeType: 'image/png' } },
        { kind: 'data', data: { b: [2] } },
      ],
    });
    expect(shown(RPC_1, sent)['parts']).toEqual([
      { text: 'hi', metadata: { a: 1 } },
      { raw: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
      { url: 'https://x.test/y', mediaType: 'image/png' },
      { data: { b: [2] } },
    ]);
  });

  // The official SDKs wrap such data in the same way, so their v0.3 clients read it as it was.
  it('wraps data that is no object for v0.3', () => {
    const sent: Message = { messageId: 'm', role: 'user', parts: [{ data: null }, { data: [1] }, { data: 'x' }] };
    expect(shown(RPC_03, sent)['parts']).toEqual(
      [null, [1], 'x'].map((value) => ({ kind: 'data', data: { value }, metadata: { data_part_compat: true } })),
    );
  });
});

describe('the size of a task', () => {
  it('is in both versions at most what its bounds reckon with', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (said) => {
        const { truncated: _, ...task } = taskOf({ messageId: 'm', role: 'user', parts: [{ data: 0 }] });
        const artifacts = said.map(({ messageId: artifactId, parts, metadata: some }) => ({
          artifactId,
          parts,
          ...(some === undefined ? {} : { metadata: some }),
        }));
        const view: TaskView = { ...task, history: said, artifacts, ...(said[0] ? { statusMessage: said[0] } : {}) };
        const methods = [v1.codec.methods.get('GetTask')!, v03.codec.methods.get('tasks/get')!];
        for (const method of [...methods, v03.codec.http.route('GET', 'tasks/task').method]) {
          const size = encodedBytes((method as Method<'getTask'>).encode(view, { taskId: 'task' }));
          expect(size).toBeLessThanOrEqual(viewBytes(view));
        }
      }),
    );
  });
});
