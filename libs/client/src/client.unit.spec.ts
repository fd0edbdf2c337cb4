import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { TargetRules } from '@app/network';
import { interfacesAt, v03, v1 } from '@app/wire';
import type { A2aClient } from './a2a-client.js';
import { ClientFailure } from './client-failure.js';
import { connect } from './connect.js';
import { GuardedHttp } from './guarded-http.js';

type Answer = (request: IncomingMessage, response: ServerResponse, method: string) => void;

let server: Server;
let url: string;
/** What the agent does with the next requests. */
let card: Answer;
let answer: Answer;
const seen: { method: string; headers: IncomingMessage['headers'] }[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.method === 'GET') return card(request, response, '');
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
      seen.push({ method, headers: request.headers });
      answer(request, response, method);
    });
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const describeCard = (at: string) => ({
  name: 'other',
  description: 'other',
  version: '1',
  skills: [],
  inputModes: [],
  outputModes: [],
  interfaces: interfacesAt(at, ['JSONRPC']),
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
  authentication: 'none' as const,
});
const json =
  (body: JsonObject, status = 200): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
const result = (value: JsonObject) => json({ jsonrpc: '2.0', id: 1, result: value });
const signal = () => AbortSignal.timeout(10_000);
const open = (options: Partial<Parameters<typeof connect>[1]> = {}, at = url): Promise<A2aClient> =>
  connect(at, { allowPrivate: true, ...options }, signal());
const failureOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ClientFailure);
  const { kind, message, code } = error as ClientFailure;
  return { kind, message, code };
};

describe('a card', () => {
  it('decides which version is spoken: the first that it names and that is spoken here', async () => {
    answer = result({ id: 't', contextId: 'c', kind: 'task', status: { state: 'working' } });
    card = json(v03.codec.encodeCard(describeCard(url)));
    expect((await (await open()).task('t', 0, signal())).taskId).toBe('t');
    expect(seen.at(-1)).toMatchObject({ method: 'tasks/get', headers: { 'a2a-version': '0.3' } });
    answer = result({ id: 't', status: { state: 'TASK_STATE_WORKING' } });
    card = json(v1.codec.encodeCard(describeCard(url)));
    await (await open({ token: 'word' })).task('t', 0, signal());
    expect(seen.at(-1)).toMatchObject({
      method: 'GetTask',
      headers: { 'a2a-version': '1.0', authorization: 'Bearer word' },
    });
  });

  it('is asked for without a version where the newest is refused', async () => {
    const old = json(v03.codec.encodeCard(describeCard(url)));
    card = (request, response) =>
      request.headers['a2a-version'] === undefined
        ? old(request, response, '')
        : json({ error: 'version' }, 400)(request, response, '');
    expect((await open()).card.name).toBe('other');
  });

  it('is refused when it is none, or names nothing that is spoken here', async () => {
    card = json({ hello: 'world' });
    expect(await failureOf(open())).toMatchObject({ kind: 'invalid', message: 'what is there is no agent card' });
    card = json({ name: 'x', supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion: '1.0' }] });
    expect(await failureOf(open())).toMatchObject({ kind: 'invalid' });
    card = json({}, 404);
    expect(await failureOf(open())).toMatchObject({ kind: 'refused', code: 404 });
  });

  it('may not name an address that is not public', async () => {
    class Canned extends GuardedHttp {
      override send() {
        const body = JSON.stringify(v1.codec.encodeCard(describeCard('https://10.1.2.3')));
        return Promise.resolve(Object.assign(Readable.from([Buffer.from(body)]), { statusCode: 200 }) as never);
      }
    }
    const http = new Canned(new TargetRules(false));
    const named = connect('https://agent.example/', { allowPrivate: false }, signal(), http);
    expect(await failureOf(named)).toMatchObject({
      kind: 'not-allowed',
      message: expect.stringMatching(/its card names https:\/\/10\.1\.2\.3\/a2a: .*private/),
    });
  });
});

describe('an address', () => {
  it('is checked as it resolves, whatever the URL shows', async () => {
    const resolve = () => Promise.resolve([{ address: '192.168.0.7', family: 4 }]);
    const failure = await failureOf(open({ allowPrivate: false, resolve }, 'https://agent.example/'));
    expect(failure).toMatchObject({ kind: 'not-allowed', message: expect.stringContaining('private') });
  });

  it('is the one that was checked: redirects are not followed', async () => {
    card = (_request, response) => void response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
    expect(await failureOf(open())).toMatchObject({ kind: 'not-allowed', message: expect.stringContaining('302') });
  });
});

describe('an answer', () => {
  let client: A2aClient;
  beforeAll(async () => {
    card = json(v1.codec.encodeCard(describeCard(url)));
    client = await open();
  });
  const get = () => client.task('t', 0, signal());

  it('is a refusal, something to come back for, or no A2A', async () => {
    answer = json({ jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'no such task' } });
    expect(await failureOf(get())).toEqual({
      kind: 'refused',
      code: -32001,
      message: 'it answered with error -32001: no such task',
    });
    answer = json({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'full' } }, 503);
    expect(await failureOf(get())).toMatchObject({ kind: 'unreachable', code: 503 });
    answer = json({ error: 'who?' }, 401);
    expect(await failureOf(get())).toMatchObject({ kind: 'refused', code: 401 });
    answer = (_request, response) => void response.end('<html>');
    expect(await failureOf(get())).toMatchObject({ kind: 'invalid' });
    answer = result({ id: 't' });
    expect(await failureOf(get())).toMatchObject({ kind: 'invalid', message: expect.stringContaining('task.status') });
    answer = (_request, response) => void response.destroy();
    expect(await failureOf(get())).toMatchObject({ kind: 'unreachable' });
  });

  it('is read up to a bound', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      Readable.from(Array.from({ length: 9 }, () => megabyte)).pipe(response);
    };
    expect(await failureOf(get())).toMatchObject({ kind: 'invalid', message: expect.stringContaining('bytes') });
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      Readable.from(['data: ', ...Array.from({ length: 9 }, () => megabyte)]).pipe(response);
    };
    expect(await failureOf(client.subscribe('t', signal()).next())).toMatchObject({ kind: 'invalid' });
  });

  it('may be a stream, which is resumed after an event, and may break', async () => {
    const frame = (id: number, body: JsonObject) =>
      `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })}\n\n`;
    const working = { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } };
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`: quiet\n\n${frame(7, { result: working })}`);
      setTimeout(() => response.destroy(), 50);
    };
    const events = client.subscribe('t', signal(), '6');
    expect((await events.next()).value).toMatchObject({ id: '7', update: { type: 'status' } });
    expect(seen.at(-1)).toMatchObject({ method: 'SubscribeToTask', headers: { 'last-event-id': '6' } });
    expect(await failureOf(events.next())).toMatchObject({ kind: 'unreachable' });
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(frame(1, { error: { code: -32603, message: 'broken' } }));
    };
    expect(await failureOf(client.subscribe('t', signal()).next())).toMatchObject({ kind: 'refused', code: -32603 });
  });

  it('is not waited for once nobody wants it', async () => {
    answer = () => undefined;
    const stop = new AbortController();
    const waiting = client.task('t', 0, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
