import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { PROTOCOLS } from '@app/wire';
import { aCard, failureOf, respondWith } from '../../../test/support/clients/agent-responses.js';
import { HttpTarget } from '../../../test/support/clients/http-target.js';
import type { A2aClient } from './a2a-client.js';
import { connect } from './connect.js';

const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');

describe('A2aClient', () => {
  let target: HttpTarget;
  let client: A2aClient;
  beforeAll(async () => {
    target = await HttpTarget.start();
    target.respond = respondWith(PROTOCOLS['1.0'].codec.encodeCard(aCard(target.urlOf())));
    client = await connect(target.urlOf(), { allowPrivate: true }, signal());
  });
  afterAll(() => target?.close());

  const signal = () => AbortSignal.timeout(10_000);
  const getTask = () => client.getTask('t', 0, signal());
  const subscribe = (lastEventId?: string) => client.subscribe('t', signal(), lastEventId);
  const frame = (id: number, body: JsonObject) =>
    `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })}\n\n`;

  it.each<[string, RequestListener, object]>([
    [
      'a JSON-RPC error as rejected',
      respondWith({ jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'no such task' } }),
      { kind: 'rejected', code: -32001, message: 'the agent responded with error -32001: no such task' },
    ],
    [
      'status 503 as unreachable, whatever the body',
      respondWith({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'full' } }, 503),
      { kind: 'unreachable', code: 503 },
    ],
    ['status 429 as unreachable', respondWith({}, 429), { kind: 'unreachable', code: 429 }],
    ['status 401 as rejected', respondWith({ error: 'who?' }, 401), { kind: 'rejected', code: 401 }],
    [
      'a response that is not JSON as invalid',
      (_request, response) => void response.end('<html>'),
      { kind: 'invalid' },
    ],
    [
      'a response that is not A2A as invalid',
      respondWith({ jsonrpc: '2.0', id: 1, result: { id: 't' } }),
      { kind: 'invalid', message: expect.stringContaining('task.status') },
    ],
    ['a closed connection as unreachable', (_request, response) => void response.destroy(), { kind: 'unreachable' }],
  ])('reports %s', async (_what, respond, failure) => {
    target.respond = respond;
    expect(await failureOf(getTask())).toMatchObject(failure);
  });

  it('limits the size of a response', async () => {
    target.respond = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      Readable.from(Array.from({ length: 9 }, () => MEGABYTE)).pipe(response);
    };
    expect(await failureOf(getTask())).toMatchObject({ kind: 'invalid', message: expect.stringContaining('bytes') });
  });

  it('limits the size of an event of a stream', async () => {
    target.respond = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      Readable.from(['data: ', ...Array.from({ length: 9 }, () => MEGABYTE)]).pipe(response);
    };
    expect(await failureOf(subscribe().next())).toMatchObject({ kind: 'invalid' });
  });

  it('resumes a stream after an event, and reports a connection that breaks as unreachable', async () => {
    const working = { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } };
    let lastEventId: unknown;
    target.respond = (request, response) => {
      lastEventId = request.headers['last-event-id'];
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`: quiet\n\n${frame(7, { result: working })}`);
      setTimeout(() => response.destroy(), 50);
    };
    const events = subscribe('6');
    expect((await events.next()).value).toMatchObject({ id: '7', update: { type: 'status' } });
    expect(lastEventId).toBe('6');
    expect(await failureOf(events.next())).toMatchObject({ kind: 'unreachable' });
  });

  it('reports an error in a stream as rejected', async () => {
    target.respond = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(frame(1, { error: { code: -32603, message: 'broken' } }));
    };
    expect(await failureOf(subscribe().next())).toMatchObject({ kind: 'rejected', code: -32603 });
  });

  it('takes a response that is not a stream for its only update', async () => {
    const result = { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } };
    target.respond = respondWith({ jsonrpc: '2.0', id: 1, result });
    const events = subscribe();
    expect((await events.next()).value).toMatchObject({ update: { type: 'task' } });
    expect((await events.next()).done).toBe(true);
  });

  it('ends with the reason of an aborted signal', async () => {
    target.respond = () => undefined;
    const stop = new AbortController();
    const waiting = client.getTask('t', 0, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
