import { DomainError, type Principal } from '@app/domain';
import { sseComment, sseFrame, type SseFrame, sseRetry } from '@app/wire';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CallerRecheck, type ToldTask } from './credential-recheck.js';
import { type EdgeRequest, principalOf, whileConnected } from '../caller.js';
import { PerCaller } from './per-caller.js';

/** Proxies commonly cut what is silent for 60 s. */
const HEARTBEAT_MS = 15_000;
const RECONNECT_MS = 1_000;
const STREAMS_PER_CALLER = 2_000;
const STREAMS = 10_000;

/** What a stream shows, and to whom it may go on being shown. */
export interface SseSource {
  readonly task: ToldTask;
  frames(signal: AbortSignal): AsyncIterable<SseFrame>;
}

interface OpenStream {
  readonly raw: FastifyReply['raw'];
  readonly end: AbortController;
}

/**
 * Streams of server-sent events that are open in this process. They are kept awake, end when their credential or ring
 * does, and tell their clients to come back when the server goes. A slow client is waited for, so that what it has not
 * read stays in the log and not in memory.
 */
@Injectable()
export class SseStreams implements OnModuleDestroy {
  private readonly logger = new Logger('streams');
  private readonly open = new Set<OpenStream>();
  private readonly perCaller = new PerCaller();
  private readonly heartbeat = setInterval(() => this.keepAwake(), HEARTBEAT_MS).unref();
  private draining = false;

  constructor(private readonly recheck: CallerRecheck) {}

  /** Writes a stream to its end. Errors, before anything is written: Overloaded. */
  async send(request: EdgeRequest, reply: FastifyReply, source: SseSource): Promise<void> {
    const principal = principalOf(request);
    const leave = this.admit(principal);
    const end = new AbortController();
    const { raw } = reply;
    const stream = { raw, end };
    this.open.add(stream);
    const answer = { authorization: request.headers.authorization, task: source.task };
    const unwatch = this.recheck.watch(answer, () => end.abort());
    const signal = AbortSignal.any([whileConnected(reply), end.signal]);
    reply.hijack();
    raw.writeHead(200, { ...headersOf(reply), 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    raw.flushHeaders();
    try {
      for await (const frame of source.frames(signal)) {
        if (signal.aborted) break;
        if (!raw.write(sseFrame(frame))) await drained(raw, signal);
      }
    } catch (error) {
      this.logger.error({ error: error instanceof Error ? error.message : String(error) });
      raw.write(sseRetry(RECONNECT_MS));
    } finally {
      unwatch();
      this.open.delete(stream);
      leave();
      const { socket } = raw;
      // Kept alive for a next request, the connection would hold up the server that is going.
      raw.end(() => this.draining && socket?.end());
    }
  }

  onModuleDestroy(): void {
    this.draining = true;
    clearInterval(this.heartbeat);
    for (const { raw, end } of this.open) {
      raw.write(sseRetry(RECONNECT_MS));
      end.abort();
    }
  }

  private admit(principal: Principal): () => void {
    if (this.draining) throw overloaded('the server is shutting down');
    if (this.perCaller.of(principal) >= STREAMS_PER_CALLER) {
      throw overloaded(`this caller has ${STREAMS_PER_CALLER} open streams already`);
    }
    if (this.open.size >= STREAMS) throw overloaded('the server has as many open streams as it takes');
    return this.perCaller.add(principal);
  }

  private keepAwake(): void {
    // A client that does not read needs no reminder either.
    for (const { raw } of this.open) if (!raw.writableNeedDrain) raw.write(sseComment('awake'));
  }
}

/** Headers that were set before the reply was taken over. */
function headersOf(reply: FastifyReply): Record<string, string> {
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  // Some proxies gather a response before they pass it on, unless told not to.
  return { ...Object.fromEntries(headers), 'X-Accel-Buffering': 'no' };
}

function drained(raw: FastifyReply['raw'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      raw.off('drain', go);
      signal.removeEventListener('abort', go);
      resolve();
    };
    raw.once('drain', go);
    signal.addEventListener('abort', go, { once: true });
  });
}

const overloaded = (why: string) => new DomainError('Overloaded', `${why}; try again later`, { retryAfterSeconds: 5 });
