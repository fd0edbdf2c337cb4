import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Authenticator } from '@app/access';
import { DomainError, type Principal } from '@app/domain';
import type { FastifyReply } from 'fastify';
import { CredentialRecheck } from './credential-recheck.js';
import type { EdgeRequest } from '../callers/edge-request.js';
import { type SseSource, SseStreams } from './sse-streams.js';

const ALICE: Principal = { tenantId: 'acme', subject: 'alice', role: 'member', rings: ['ring:dev'], agents: [] };
const TASK = { taskId: 'task-1', tenantId: 'acme', owner: 'alice', ring: 'ring:dev' };

let revalidate: () => Promise<Principal>;
let recheck: CredentialRecheck;
let streams: SseStreams;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  revalidate = () => Promise.resolve(ALICE);
  recheck = new CredentialRecheck({ revalidate: () => revalidate() } as unknown as Authenticator);
  streams = new SseStreams(recheck);
});
afterEach(() => {
  streams.onModuleDestroy();
  recheck.onModuleDestroy();
  jest.useRealTimers();
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The client of a stream, with what was written to its response. */
class Client {
  readonly raw = Object.assign(new PassThrough(), {
    writeHead: () => this.raw,
    flushHeaders: () => undefined,
    socket: null,
  });
  readonly reply = { raw: this.raw, hijack: () => undefined, getHeaders: () => ({}) } as unknown as FastifyReply;
  text = '';

  read(): this {
    this.raw.setEncoding('utf8').on('data', (chunk: string) => {
      this.text += chunk;
    });
    return this;
  }

  open(source: SseSource): Promise<void> {
    const request = { principal: ALICE, headers: { authorization: 'Bearer x' } } as unknown as EdgeRequest;
    return streams.send(request, this.reply, source);
  }
}

/** A stream that sends a snapshot and then nothing until it is aborted. */
const IDLE: SseSource = {
  task: TASK,
  async *frames(signal) {
    yield { id: 1, data: 'snapshot' };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
};

describe('SseStreams: an idle stream', () => {
  // F11
  it('sends a comment every 15 s, which is not an event for any client', async () => {
    const client = new Client().read();
    const done = client.open(IDLE);
    await settled();
    expect(client.text).toBe('id: 1\ndata: snapshot\n\n');
    for (let minute = 0; minute < 4; minute += 1) {
      jest.advanceTimersByTime(15_000);
      await settled();
    }
    expect(client.text.split('\n\n').slice(1, -1)).toEqual(Array.from({ length: 4 }, () => ': keep-alive'));
    client.raw.destroy();
    await done;
    jest.advanceTimersByTime(60_000);
  });

  it('ends when the caller loses the credential or the ring, and not when they cannot be looked up', async () => {
    for (const [result, ends] of [
      [() => Promise.reject(new DomainError('Unauthenticated', 'revoked', {})), true],
      [() => Promise.resolve({ ...ALICE, rings: ['ring:other'] }), true],
      [() => Promise.reject(new Error('no database')), false],
      [() => Promise.resolve(ALICE), false],
    ] as const) {
      const client = new Client().read();
      const done = client.open(IDLE);
      await settled();
      revalidate = result;
      jest.advanceTimersByTime(5_000);
      await settled();
      expect(client.raw.writableEnded).toBe(ends);
      client.raw.destroy();
      await done;
    }
  });

  it('asks its client to reconnect at shutdown, after which new streams are rejected', async () => {
    const client = new Client().read();
    const done = client.open(IDLE);
    await settled();
    streams.onModuleDestroy();
    await done;
    await settled();
    expect(client.text).toMatch(/\n\nretry: \d+\n\n$/);
    await expect(new Client().open(IDLE)).rejects.toMatchObject({ kind: 'Overloaded' });
  });
});

describe('SseStreams: the stream of a client', () => {
  it('stops reading its source and sends no heartbeats while the client does not read', async () => {
    const client = new Client();
    let yielded = 0;
    const done = client.open({
      task: TASK,
      async *frames() {
        for (;;) {
          yielded += 1;
          yield { id: yielded, data: 'x'.repeat(10_000) };
        }
      },
    });
    await settled();
    const before = yielded;
    jest.advanceTimersByTime(60_000);
    await settled();
    expect(yielded).toBe(before);
    expect(client.raw.writableLength).toBeLessThan(100_000);
    client.raw.destroy();
    await done;
  });

  it('ends immediately when the client disconnects before the stream starts', async () => {
    const client = new Client();
    client.raw.destroy();
    await settled();
    let wasActive = false;
    const done = client.open({
      task: TASK,
      async *frames(signal) {
        wasActive = !signal.aborted;
        yield* IDLE.frames(signal);
      },
    });
    await Promise.race([done, settled().then(settled)]);
    expect(wasActive).toBe(false);
    await done;
  });
});
