import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HttpTarget } from '../../../test/support/clients/http-target.js';
import { HttpFailure } from './http-failure.js';
import { PinnedHttpClient } from './pinned-http-client.js';
import { TargetRules } from './target-rules.js';

describe('HttpResponse', () => {
  const client = new PinnedHttpClient(new TargetRules(true));
  let target: HttpTarget;
  beforeAll(async () => {
    target = await HttpTarget.start();
  });
  afterAll(() => target?.close());

  const get = ({ signal = new AbortController().signal, responseTimeoutMs = 10_000, idleTimeoutMs = 10_000 } = {}) =>
    client.request(target.urlOf(), { method: 'GET', headers: {}, responseTimeoutMs, idleTimeoutMs, signal });

  /** Has the target send "x" and no end. Resolves when its connection closes. */
  const closeOfEndlessBody = () =>
    new Promise<void>((resolve) => {
      target.respond = (_request, response) => {
        response.on('close', resolve);
        response.write('x');
      };
    });

  it('is the response after informational ones', async () => {
    target.respond = (_request, response) => {
      response.writeContinue();
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeContinue();
      response.end('hello');
    };
    const response = await get();
    expect([response.status, (await response.bytes(10)).toString()]).toEqual([200, 'hello']);
  });

  it('is missing when the target switches to a different protocol', async () => {
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
    target.respond = (_request, response) => void response.socket!.write(switching);
    await expect(get()).rejects.toThrow(new HttpFailure('unreachable', 'the connection failed (ECONNRESET)'));
  });

  it('returns the body up to a limit in bytes', async () => {
    target.respond = (_request, response) => void response.end('12345');
    expect((await (await get()).bytes(5)).toString()).toBe('12345');
    await expect((await get()).bytes(4)).rejects.toThrow(
      new HttpFailure('invalid', 'the response is larger than 4 bytes'),
    );
  });

  it('stops reading a body that exceeds the limit', async () => {
    let sent = 0;
    const closed = new Promise<void>((resolve) => {
      target.respond = (_request, response) => {
        const fill = () => {
          while (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) sent += 16 * 1024;
        };
        response.on('drain', fill).on('close', resolve);
        fill();
      };
    });
    await expect((await get()).bytes(100_000)).rejects.toMatchObject({ kind: 'invalid' });
    await closed;
    expect(sent).toBeLessThan(50_000_000);
  });

  it.each<[string, (response: Awaited<ReturnType<typeof get>>) => Promise<void> | void]>([
    ['the caller closes it', (response) => response.close()],
    ['the caller discards it, and the body does not end', (response) => response.discard(100)],
    [
      'the caller stops reading',
      async (response) => {
        for await (const chunk of response.chunks()) {
          expect(chunk.toString()).toBe('x');
          break;
        }
      },
    ],
  ])('closes the connection when %s', async (_when, leave) => {
    const closed = closeOfEndlessBody();
    await leave(await get());
    await closed;
  });

  it('lets the body take longer than the response timeout, but not be idle for longer than the idle timeout', async () => {
    target.respond = (_request, response) => {
      response.write('a');
      setTimeout(() => response.write('b'), 600);
    };
    const response = await get({ responseTimeoutMs: 500, idleTimeoutMs: 1_500 });
    const chunks: string[] = [];
    const read = async () => {
      for await (const chunk of response.chunks()) chunks.push(chunk.toString());
    };
    await expect(read()).rejects.toThrow(new HttpFailure('unreachable', 'the response was idle for 1.5 s'));
    expect(chunks).toEqual(['a', 'b']);
  });

  it('ends with the reason of an aborted signal', async () => {
    const closed = closeOfEndlessBody();
    const stop = new AbortController();
    const chunks = (await get({ signal: stop.signal })).chunks();
    expect((await chunks.next()).value).toEqual(Buffer.from('x'));
    const next = chunks.next();
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(next).rejects.toBe(reason);
    await closed;
  });

  const afterOneByte =
    (headers: Record<string, string | number>): RequestListener =>
    (_request, response) => {
      response.writeHead(200, headers);
      response.write('a', () => setTimeout(() => response.destroy(), 20));
    };
  it.each<[string, RequestListener]>([
    ['before the response', (_request, response) => void response.destroy()],
    ['in a body with a length', afterOneByte({ 'Content-Length': 10 })],
    ['in a body with a length and "Connection: close"', afterOneByte({ 'Content-Length': 10, Connection: 'close' })],
    ['in a chunked body', afterOneByte({})],
    ['in a chunked body with "Connection: close"', afterOneByte({ Connection: 'close' })],
  ])('reports a reset connection when the target closes it %s', async (_when, respond) => {
    target.respond = respond;
    await expect(get().then((response) => response.bytes(100))).rejects.toThrow(
      new HttpFailure('unreachable', 'the connection failed (ECONNRESET)'),
    );
  });
});
