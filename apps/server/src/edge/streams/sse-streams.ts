import { encodeSseComment, encodeSseFrame, encodeSseRetry, EVENT_STREAM_MEDIA_TYPE, type SseFrame } from '@app/wire';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { disconnectSignal, type EdgeRequest, principalOf } from '../callers/edge-request.js';
import { CredentialRecheck, type VisibleTask } from './credential-recheck.js';
import { ResponseLimit } from './response-limit.js';

/** Proxies commonly close a connection that was idle for 60 s. */
const HEARTBEAT_MS = 15_000;
const RECONNECT_MS = 1_000;

/** The frames of a stream, and the task that the caller must be able to access while the stream is open. */
export interface SseSource {
  readonly task: VisibleTask;
  frames(signal: AbortSignal): AsyncIterable<SseFrame>;
}

interface OpenStream {
  readonly raw: FastifyReply['raw'];
  readonly end: AbortController;
}

/**
 * The open streams of server-sent events in this process. Each gets a comment as a heartbeat, ends when the caller loses
 * access to the task, and sends its client a reconnection delay when the server shuts down. The source is read only as fast as the
 * client reads, so that a slow client does not use memory.
 */
@Injectable()
export class SseStreams implements OnModuleDestroy {
  private readonly logger = new Logger('streams');
  private readonly open = new Set<OpenStream>();
  private readonly limit = new ResponseLimit({
    what: 'open streams',
    perCaller: 2_000,
    perServer: 10_000,
    advice: 'try again later',
    retryAfterSeconds: 5,
  });
  private readonly heartbeat = setInterval(() => this.sendHeartbeats(), HEARTBEAT_MS).unref();

  constructor(private readonly recheck: CredentialRecheck) {}

  /** Sends a stream until it ends. The response to HEAD has its headers only. Errors, before anything is sent: Overloaded. */
  async send(request: EdgeRequest, reply: FastifyReply, source: SseSource): Promise<void> {
    if (request.method === 'HEAD') {
      await reply.code(200).headers(headersOf(reply)).send();
      return;
    }
    const release = this.limit.admit(principalOf(request));
    const { raw } = reply;
    const stream: OpenStream = { raw, end: new AbortController() };
    this.open.add(stream);
    const response = { authorization: request.headers.authorization, task: source.task };
    const unwatch = this.recheck.watch(response, () => stream.end.abort());
    const signal = AbortSignal.any([disconnectSignal(reply), stream.end.signal]);
    reply.hijack();
    raw.writeHead(200, headersOf(reply));
    raw.flushHeaders();
    try {
      for await (const frame of source.frames(signal)) {
        if (signal.aborted) break;
        if (!raw.write(encodeSseFrame(frame))) await drained(raw, signal);
      }
    } catch (error) {
      this.logger.error({ message: 'stream failed', requestId: request.id, taskId: source.task.taskId, error });
      raw.write(encodeSseRetry(RECONNECT_MS));
    } finally {
      unwatch();
      this.open.delete(stream);
      release();
      const { socket } = raw;
      // A kept-alive connection would delay the shutdown of the server.
      raw.end(() => this.limit.isClosing && socket?.end());
    }
  }

  onModuleDestroy(): void {
    this.limit.close();
    clearInterval(this.heartbeat);
    for (const { raw, end } of this.open) {
      raw.write(encodeSseRetry(RECONNECT_MS));
      end.abort();
    }
  }

  private sendHeartbeats(): void {
    // A client that does not read has data waiting, so its connection is not idle.
    for (const { raw } of this.open) if (!raw.writableNeedDrain) raw.write(encodeSseComment('keep-alive'));
  }
}

/** Returns the headers of a stream, with those that were set before the reply was hijacked. */
function headersOf(reply: FastifyReply): Record<string, string> {
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  return {
    ...Object.fromEntries(headers),
    // Some proxies buffer a response unless this header is set.
    'X-Accel-Buffering': 'no',
    'Content-Type': EVENT_STREAM_MEDIA_TYPE,
    'Cache-Control': 'no-store',
  };
}

/** Resolves when the client has read what was written, or when the signal aborts. */
function drained(raw: FastifyReply['raw'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    raw.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
  });
}
