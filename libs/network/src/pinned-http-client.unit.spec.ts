import { getEventListeners } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HttpTarget } from '../../../test/support/clients/http-target.js';
import { HttpFailure } from './http-failure.js';
import { type HttpRequest, PinnedHttpClient } from './pinned-http-client.js';
import type { Resolver } from './target-addresses.js';
import { TargetRules } from './target-rules.js';

const LOOPBACK = { address: '127.0.0.1', family: 4 };
const PUBLIC = { address: '203.0.114.1', family: 4 };
const NO_RESPONSE: Resolver = () => new Promise(() => undefined);
const NOT_FOUND: Resolver = () => Promise.reject(Object.assign(new Error('secret.example'), { code: 'ENOTFOUND' }));

const requestWith = (more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  headers: {},
  responseTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  signal: new AbortController().signal,
  ...more,
});

const failureOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(HttpFailure);
  const { kind, message } = error as HttpFailure;
  return { kind, message };
};

/** A TCP server that accepts connections and sends nothing: a TLS handshake with it does not end. */
async function startSilentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    untilConnections: async (count: number) => {
      while (sockets.size !== count) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

describe('PinnedHttpClient', () => {
  const permissive = new PinnedHttpClient(new TargetRules(true));
  const strict = (resolve: Resolver) => new PinnedHttpClient(new TargetRules(false), resolve);
  let target: HttpTarget;
  beforeAll(async () => {
    target = await HttpTarget.start();
  });
  beforeEach(() => {
    target.connections = 0;
    target.requests = 0;
    target.respond = (_request, response) => void response.end('hello');
  });
  afterAll(() => target?.close());

  it('sends the method, the path with its query, the headers and the body', async () => {
    target.respond = (request, response) => {
      const { method, url, headers } = request;
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        response.writeHead(201, { 'X-Reply': 'yes' });
        response.end(JSON.stringify([method, url, headers['x-token'], headers['content-length'], body]));
      });
    };
    const request = requestWith({ method: 'POST', headers: { 'X-Token': 'secret' }, body: Buffer.from('päckchen') });
    const response = await permissive.request(target.urlOf('/a/b?c=d#e'), request);
    expect([response.status, response.headers['x-reply']]).toEqual([201, 'yes']);
    expect(JSON.parse((await response.bytes(1_000)).toString())).toEqual([
      'POST',
      '/a/b?c=d',
      'secret',
      '9',
      'päckchen',
    ]);
  });

  // F33
  describe('for an address', () => {
    it('connects to the address that was checked, with one lookup for each request', async () => {
      const names: string[] = [];
      const client = new PinnedHttpClient(new TargetRules(true), async (name) => {
        names.push(name);
        return [LOOPBACK];
      });
      let host: string | undefined;
      target.respond = (request, response) => {
        ({ host } = request.headers);
        response.end();
      };
      const url = `http://agent.example:${target.port}/`;
      await (await client.request(url, requestWith())).bytes(10);
      expect([names, host]).toEqual([['agent.example'], `agent.example:${target.port}`]);
      await (await client.request(url, requestWith())).bytes(10);
      expect(names).toHaveLength(2);
    });

    it('opens a connection for each request, so that the address of each request is checked', async () => {
      for (let n = 1; n <= 3; n += 1) {
        expect((await (await permissive.request(target.urlOf(), requestWith())).bytes(10)).toString()).toBe('hello');
        expect(target.connections).toBe(n);
      }
    });

    it('rejects a host that has resolved to a public address and now resolves to a private one', async () => {
      let lookups = 0;
      const client = strict(async () => {
        lookups += 1;
        return [lookups === 1 ? PUBLIC : LOOPBACK];
      });
      const url = `https://agent.example:${target.port}/`;
      await client.check(url, requestWith().signal);
      expect(await failureOf(client.request(url, requestWith()))).toMatchObject({
        kind: 'not-allowed',
        message: expect.stringContaining('loopback'),
      });
      expect(target.connections).toBe(0);
    });

    it.each([
      ['127.0.0.1', 'loopback'],
      ['169.254.169.254', 'link-local'],
      ['10.1.2.3', 'private'],
      ['::1', 'loopback'],
      ['::ffff:127.0.0.1', 'IPv4-mapped'],
      ['fe80::1', 'link-local'],
      ['fd00::1', 'unique-local'],
    ])('rejects %s as a resolved address and as the host of a URL', async (address, special) => {
      const family = address.includes(':') ? 6 : 4;
      const expected = { kind: 'not-allowed', message: expect.stringMatching(new RegExp(`${special}.*not allowed`)) };
      // One public address does not hide the other.
      const client = strict(async () => [PUBLIC, { address, family }]);
      for (const host of ['agent.example', family === 6 ? `[${address}]` : address]) {
        const url = `https://${host}:${target.port}/`;
        expect(await failureOf(client.request(url, requestWith()))).toMatchObject(expected);
        expect(await failureOf(client.check(url, requestWith().signal))).toMatchObject(expected);
      }
      expect(target.connections).toBe(0);
    });

    it.each(['https://2130706433/', 'https://0x7f.1/', 'https://127.0.0.1./'])(
      'rejects %s, which is a loopback address, without a lookup',
      async (url) => {
        const client = strict(NO_RESPONSE);
        expect(await failureOf(client.request(url, requestWith()))).toMatchObject({
          kind: 'not-allowed',
          message: 'the URL is a loopback address (127.0.0.1), which is not allowed',
        });
      },
    );

    it('rejects http and URLs with credentials', async () => {
      const client = strict(async () => [PUBLIC]);
      for (const url of ['http://agent.example/', 'https://user:password@agent.example/']) {
        expect(await failureOf(client.request(url, requestWith()))).toMatchObject({ kind: 'not-allowed' });
      }
    });

    it('accepts private addresses where the rules allow them', async () => {
      await expect(permissive.check(target.urlOf(), requestWith().signal)).resolves.toBeUndefined();
      expect((await permissive.request(target.urlOf(), requestWith())).status).toBe(200);
    });

    it('accepts a host that does not resolve now when it only checks the URL', async () => {
      await expect(strict(NOT_FOUND).check('https://agent.example/', requestWith().signal)).resolves.toBeUndefined();
    });

    it('does not follow a redirect', async () => {
      target.respond = (_request, response) => void response.writeHead(307, { Location: target.urlOf('/x') }).end();
      expect(await failureOf(permissive.request(target.urlOf(), requestWith()))).toEqual({
        kind: 'not-allowed',
        message: 'the target responded with status 307; redirects are not followed',
      });
      expect(target.requests).toBe(1);
    });
  });

  it.each(['a\rb', 'a\nb', 'a\r\nX-Forged: yes'])('does not send the header value %j', async (value) => {
    expect(await failureOf(permissive.request(target.urlOf(), requestWith({ headers: { 'X-Token': value } })))).toEqual(
      {
        kind: 'unreachable',
        message: 'the connection failed (ERR_INVALID_CHAR)',
      },
    );
    expect(target.requests).toBe(0);
  });

  describe('with a response timeout', () => {
    const request = requestWith({ responseTimeoutMs: 50 });
    const late = { kind: 'unreachable', message: 'no response within 0.05 s' };

    it('fails when the response headers do not arrive in time', async () => {
      target.respond = () => undefined;
      expect(await failureOf(permissive.request(target.urlOf(), request))).toEqual(late);
    });

    it('fails when the lookup does not end in time', async () => {
      expect(await failureOf(strict(NO_RESPONSE).request('https://agent.example/', request))).toEqual(late);
    });

    it('fails when the connection is not ready in time, and closes it', async () => {
      const silent = await startSilentServer();
      expect(await failureOf(permissive.request(silent.url, request))).toEqual(late);
      await silent.untilConnections(0);
      await silent.close();
    });
  });

  describe('with an aborted signal', () => {
    const reason = new Error('enough');

    it('throws its reason without a request', async () => {
      const request = requestWith({ signal: AbortSignal.abort(reason) });
      await expect(permissive.request(target.urlOf(), request)).rejects.toBe(reason);
      expect(target.requests).toBe(0);
    });

    it('stops a lookup, and a request that waits for its response', async () => {
      const stop = new AbortController();
      const request = requestWith({ signal: stop.signal });
      const lookup = strict(NO_RESPONSE).request('https://agent.example/', request);
      const received = new Promise<void>((resolve) => {
        target.respond = () => resolve();
      });
      const waiting = permissive.request(target.urlOf(), request);
      await received;
      stop.abort(reason);
      await expect(lookup).rejects.toBe(reason);
      await expect(waiting).rejects.toBe(reason);
    });

    it('closes a connection that is not ready', async () => {
      const silent = await startSilentServer();
      const stop = new AbortController();
      const waiting = permissive.request(silent.url, requestWith({ signal: stop.signal }));
      await silent.untilConnections(1);
      stop.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      await silent.untilConnections(0);
      await silent.close();
    });
  });

  it('leaves no listener on the signal after a response, a rejected request and a failed one', async () => {
    const { signal } = new AbortController();
    await (await permissive.request(target.urlOf(), requestWith({ signal }))).bytes(10);
    const discarded = await permissive.request(target.urlOf(), requestWith({ signal }));
    await discarded.discard(1_000);
    await failureOf(strict(NOT_FOUND).request('https://agent.example/', requestWith({ signal })));
    await failureOf(permissive.request(target.urlOf(), requestWith({ signal, headers: { 'X-Token': '\n' } })));
    while (getEventListeners(signal, 'abort').length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('reports a failed connection with the code of its cause, and with no host', async () => {
    const closed = await startSilentServer();
    await closed.close();
    const refused = permissive.request(closed.url.replace('https:', 'http:'), requestWith());
    expect(await failureOf(refused)).toEqual({
      kind: 'unreachable',
      message: 'the connection failed (ECONNREFUSED)',
    });
    expect(await failureOf(strict(NOT_FOUND).request('https://secret.example/', requestWith()))).toEqual({
      kind: 'unreachable',
      message: expect.stringMatching(/^the host does not resolve \(ENOTFOUND\)$/),
    });
    const noTls = permissive.request(target.urlOf().replace('http:', 'https:'), requestWith());
    expect((await failureOf(noTls)).message).toMatch(/^the connection failed \(\w+\)$/);
    target.respond = (_request, response) => void response.socket!.end('no HTTP\r\n\r\n');
    expect((await failureOf(permissive.request(target.urlOf(), requestWith()))).message).toBe(
      'the response is not valid HTTP',
    );
  });
});
