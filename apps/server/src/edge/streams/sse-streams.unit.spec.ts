import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Authenticator } from '@app/access';
import { DomainError, type Principal } from '@app/domain';
import type { FastifyReply } from 'fastify';
import { CallerRecheck } from './credential-recheck.js';
import type { EdgeRequest } from '../caller.js';
import { type SseSource, SseStreams } from './sse-streams.js';

const ALICE: Principal = { tenantId: 'acme', subject: 'alice', role: 'member', rings: ['ring:dev'], agents: [] };
const TASK = { taskId: 'task-1', tenantId: 'acme', owner: 'alice', ring: 'ring:dev' };

let whoNow: () => Promise<Principal>;
let recheck: CallerRecheck;
let streams: SseStreams;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  whoNow = () => Promise.resolve(ALICE);
  recheck = new CallerRecheck({ revalidate: () => whoNow() } as unknown as Authenticator);
  streams = new SseStreams(recheck);
});
afterEach(() => {
  streams.onModuleDestroy();
  recheck.onModuleDestroy();
  jest.useRealTimers();
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The far end of a response: what was written to it, and until when. */
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

/** A task on which nothing happens for as long as someone listens. */
const QUIET: SseSource = {
  task: TASK,
  async *frames(signal) {
    yield { id: 1, data: 'snapshot' };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
};

describe('a quiet stream', () => {
  // F11
  it('gets a comment at least every 15 s, which no client takes for an event', async () => {
    const client = new Client().read();
    const over = client.open(QUIET);
    await settled();
    expect(client.text).toBe('id: 1\ndata: snapshot\n\n');
    for (let minute = 0; minute < 4; minute += 1) {
      jest.advanceTimersByTime(15_000);
      await settled();
    }
    expect(client.text.split('\n\n').slice(1, -1)).toEqual([': awake', ': awake', ': awake', ': awake']);
    client.raw.destroy();
    await over;
    jest.advanceTimersByTime(60_000);
  });

  it('ends when its credential does, or its ring, and not because neither can be looked up', async () => {
    for (const [answer, ends] of [
      [() => Promise.reject(new DomainError('Unauthenticated', 'revoked', {})), true],
      [() => Promise.resolve({ ...ALICE, rings: ['ring:other'] }), true],
      [() => Promise.reject(new Error('no database')), false],
      [() => Promise.resolve(ALICE), false],
    ] as const) {
      const client = new Client().read();
      const over = client.open(QUIET);
      await settled();
      whoNow = answer;
      jest.advanceTimersByTime(5_000);
      await settled();
      expect(client.raw.writableEnded).toBe(ends);
      client.raw.destroy();
      await over;
    }
  });

  it('is told to come back when the server goes, which takes no new one', async () => {
    const client = new Client().read();
    const over = client.open(QUIET);
    await settled();
    streams.onModuleDestroy();
    await over;
    await settled();
    expect(client.text).toMatch(/\n\nretry: \d+\n\n$/);
    await expect(new Client().open(QUIET)).rejects.toMatchObject({ kind: 'Overloaded' });
  });
});

describe('a client', () => {
  it('that does not read is waited for, and not reminded', async () => {
    const client = new Client();
    let asked = 0;
    const over = client.open({
      task: TASK,
      async *frames() {
        for (;;) {
          asked += 1;
          yield { id: asked, data: 'x'.repeat(10_000) };
        }
      },
    });
    await settled();
    const held = asked;
    jest.advanceTimersByTime(60_000);
    await settled();
    expect(asked).toBe(held);
    expect(client.raw.writableLength).toBeLessThan(100_000);
    client.raw.destroy();
    await over;
  });

  it('that left before its stream began gets none, and none is kept for it', async () => {
    const client = new Client();
    client.raw.destroy();
    await settled();
    let listened = false;
    const gone = client.open({
      task: TASK,
      async *frames(signal) {
        listened = !signal.aborted;
        yield* QUIET.frames(signal);
      },
    });
    await Promise.race([gone, settled().then(settled)]);
    expect(listened).toBe(false);
    await gone;
  });
});
