import { describe, expect, it } from '@jest/globals';
import {
  encodedBytes,
  TaskFold,
  type Json,
  type JsonObject,
  type Message,
  type TaskEvent,
  type TaskView,
  viewBytes,
} from '@app/domain';
import fc from 'fast-check';
import { message } from '../../../test/support/clients/wire-content.js';
import { sizeOf } from '../../../test/support/extended.js';
import { recorded, REQUEST } from '../../../test/support/tasks.js';
import type { A2aCodec } from './codec.js';
import type { Method, SendRequest } from './requests.js';
import { PROTOCOLS } from './protocols.js';

const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];

/** Returns a task whose history is this message. */
function taskOf(sent: Message) {
  const recordedAt = '2026-01-01T00:00:00.000Z';
  const events: TaskEvent[] = [
    {
      type: 'TaskSubmitted',
      facts: { contextId: 'context', ring: 'ring:a', owner: 'owner', agent: 'agent', acknowledged: true },
    },
    {
      type: 'MessageAccepted',
      facts: { messageId: sent.messageId, parts: sent.parts.length, bytes: 1, request: REQUEST },
      content: { message: sent },
    },
  ];
  const fold = new TaskFold('tenant', 'task');
  for (const event of recorded(events, recordedAt)) fold.add(event);
  return fold.view();
}

/** The encoding and decoding of one binding of one version. */
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

const RPC_1 = rpc(v1, 'SendMessage');
const RPC_03 = rpc(v03, 'message/send');
const HTTP_03 = httpJson(v03);

/** Returns the message as a client receives it in the history of its task. */
function shown(wire: Wire, sent: Message): JsonObject {
  const update = wire.encodeTask(taskOf(sent)) as JsonObject;
  const task = (update['task'] ?? update) as { history: JsonObject[] };
  return JSON.parse(JSON.stringify(task.history[0])) as JsonObject;
}

/** Decodes a send of a message that a client received. */
const resent = (wire: Wire, received: JsonObject): SendRequest => wire.decodeSend({ message: received }) as SendRequest;

describe.each([RPC_1, RPC_03, httpJson(v1), HTTP_03])('The content of a message through $name', (wire) => {
  // F30
  it('does not change in a round trip', () => {
    fc.assert(
      fc.property(message, (sent) => {
        const request = resent(wire, shown(wire, sent));
        expect(request.message).toEqual(sent);
        expect(JSON.stringify(request.message.parts)).toBe(
          JSON.stringify(resent(wire, shown(wire, request.message)).message.parts),
        );
        expect(request).toMatchObject({ taskId: 'task', contextId: 'context' });
      }),
      { numRuns: sizeOf({ smoke: 100, full: 1_000 }) },
    );
  });
});

describe('The content of a message through both versions', () => {
  // F30
  it('does not change between a v0.3 client that sends it and a v1.0 client that reads it', () => {
    fc.assert(
      fc.property(message, (sent) => {
        for (const wire of [RPC_03, HTTP_03]) {
          const through03 = resent(wire, shown(wire, sent)).message;
          expect(resent(RPC_1, shown(RPC_1, through03)).message).toEqual(sent);
        }
      }),
      { numRuns: sizeOf({ smoke: 50, full: 500 }) },
    );
  });

  // F30
  it('is converted from the file, data and text parts of v0.3 to v1.0 parts', () => {
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

  // The official SDKs wrap such data in the same way, so their v0.3 clients can unwrap it.
  it('is wrapped for v0.3 clients if it is data that is not an object', () => {
    const sent: Message = { messageId: 'm', role: 'user', parts: [{ data: null }, { data: [1] }, { data: 'x' }] };
    expect(shown(RPC_03, sent)['parts']).toEqual(
      [null, [1], 'x'].map((value) => ({ kind: 'data', data: { value }, metadata: { data_part_compat: true } })),
    );
  });
});

describe('The encoded size of a task', () => {
  it('does not exceed the size that its bounds assume, in both versions', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (messages) => {
        const { truncated: _, ...task } = taskOf({ messageId: 'm', role: 'user', parts: [{ data: 0 }] });
        const artifacts = messages.map(({ messageId: artifactId, parts, metadata }) => ({
          artifactId,
          parts,
          ...(metadata === undefined ? {} : { metadata }),
        }));
        const view: TaskView = {
          ...task,
          history: messages,
          artifacts,
          ...(messages[0] ? { statusMessage: messages[0] } : {}),
        };
        const methods = [v1.methods.get('GetTask')!, v03.methods.get('tasks/get')!];
        for (const method of [...methods, v03.http.route('GET', 'tasks/task').method]) {
          const size = encodedBytes((method as Method<'getTask'>).encode(view, { taskId: 'task' }));
          expect(size).toBeLessThanOrEqual(viewBytes(view));
        }
      }),
    );
  });
});
