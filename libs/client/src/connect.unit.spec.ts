import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { PinnedHttpClient, TargetRules } from '@app/network';
import { PROTOCOLS, type ProtocolVersion } from '@app/wire';
import { aCard, failureOf, respondWith } from '../../../test/support/clients/agent-responses.js';
import { HttpTarget } from '../../../test/support/clients/http-target.js';
import { connect } from './connect.js';

describe('connect', () => {
  let target: HttpTarget;
  beforeAll(async () => {
    target = await HttpTarget.start();
  });
  afterAll(() => target?.close());

  const signal = () => AbortSignal.timeout(10_000);
  const open = (options: Partial<Parameters<typeof connect>[1]> = {}, url = target.urlOf()) =>
    connect(url, { allowPrivate: true, ...options }, signal());
  const cardOf = (version: ProtocolVersion, url = target.urlOf()): JsonObject =>
    PROTOCOLS[version].codec.encodeCard(aCard(url));
  /** Responds with a card, and with the result of a call. */
  const respondWithAgent = (card: JsonObject, result: JsonObject) => {
    const calls: { method: string; headers: Record<string, unknown> }[] = [];
    target.respond = (request, response) => {
      if (request.method === 'GET') return respondWith(card)(request, response);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
        calls.push({ method, headers: request.headers });
        respondWith({ jsonrpc: '2.0', id: 1, result })(request, response);
      });
    };
    return calls;
  };

  it('uses version 0.3 for a card of 0.3', async () => {
    const calls = respondWithAgent(cardOf('0.3'), {
      id: 't',
      contextId: 'c',
      kind: 'task',
      status: { state: 'working' },
    });
    expect((await (await open()).getTask('t', 0, signal())).taskId).toBe('t');
    expect(calls).toMatchObject([{ method: 'tasks/get', headers: { 'a2a-version': '0.3' } }]);
  });

  it('uses version 1.0 for a card that names it first, and sends the token', async () => {
    const calls = respondWithAgent(cardOf('1.0'), { id: 't', status: { state: 'TASK_STATE_WORKING' } });
    await (await open({ token: 'secret' })).getTask('t', 0, signal());
    expect(calls).toMatchObject([
      { method: 'GetTask', headers: { 'a2a-version': '1.0', authorization: 'Bearer secret' } },
    ]);
  });

  it('requests the card without a version if the agent rejects the newest version', async () => {
    const card = respondWith(cardOf('0.3'));
    target.respond = (request, response) =>
      request.headers['a2a-version'] === undefined
        ? card(request, response)
        : respondWith({ error: 'version' }, 400)(request, response);
    expect((await open()).card.name).toBe('other');
  });

  it.each<[string, RequestListener, object]>([
    [
      'JSON that is not a card',
      respondWith({ hello: 'world' }),
      { kind: 'invalid', message: 'the response is not an agent card' },
    ],
    [
      'a card without a supported address',
      respondWith({
        name: 'x',
        supportedInterfaces: [{ url: 'https://x.example/', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
      }),
      { kind: 'invalid' },
    ],
    ['status 404', respondWith({}, 404), { kind: 'rejected', code: 404 }],
    ['status 503', respondWith({}, 503), { kind: 'unreachable', code: 503 }],
  ])('fails for %s', async (_what, respond, failure) => {
    target.respond = respond;
    expect(await failureOf(open())).toMatchObject(failure);
  });

  it('fails if the card names an address that is not public', async () => {
    class CardClient extends PinnedHttpClient {
      override request() {
        const body = Buffer.from(JSON.stringify(cardOf('1.0', 'https://10.1.2.3')));
        return Promise.resolve({ status: 200, bytes: async () => body } as never);
      }
    }
    const http = new CardClient(new TargetRules(false));
    const connected = connect('https://agent.example/', { allowPrivate: false }, signal(), http);
    expect(await failureOf(connected)).toMatchObject({
      kind: 'not-allowed',
      message: expect.stringMatching(/the card names https:\/\/10\.1\.2\.3\/a2a: .*private/),
    });
  });

  it('fails if the host of the URL resolves to an address that is not public', async () => {
    const resolve = () => Promise.resolve([{ address: '192.168.0.7', family: 4 }]);
    const failure = await failureOf(open({ allowPrivate: false, resolve }, 'https://agent.example/'));
    expect(failure).toMatchObject({ kind: 'not-allowed', message: expect.stringContaining('private') });
  });

  it('fails for a redirect, which could lead to an address that was not checked', async () => {
    target.respond = (_request, response) => void response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
    expect(await failureOf(open())).toMatchObject({ kind: 'not-allowed', message: expect.stringContaining('302') });
  });
});
