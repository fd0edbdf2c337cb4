import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpFailure, httpFailureOf } from './http-failure.js';

/** Limit for reading a body that the caller ignores. A short body is read so that the server can finish its response. */
const DISCARD_BYTES = 64 * 1024;

/** The headers of a response, and its body as it arrives. Methods throw HttpFailure, or the reason of the request's signal. */
export class HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;

  constructor(
    private readonly message: IncomingMessage,
    idleTimeoutMs: number,
    private readonly signal: AbortSignal,
  ) {
    this.status = message.statusCode!;
    this.headers = message.headers;
    message.setTimeout(idleTimeoutMs, () => {
      message.destroy(new HttpFailure('unreachable', `the response was idle for ${idleTimeoutMs / 1000} s`));
    });
    // An error of a body that nobody reads must not end the process. A reader of the body still gets it.
    message.on('error', () => undefined);
  }

  /** Yields the body as it arrives. The connection closes when the iteration ends, however it ends. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.message) yield chunk as Buffer;
    } catch (error) {
      throw httpFailureOf(error, this.signal);
    }
  }

  /** Returns the whole body. One of more than `limit` bytes is an HttpFailure (`invalid`), and is not read further. */
  async bytes(limit: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.chunks()) {
      size += chunk.length;
      if (size > limit) throw new HttpFailure('invalid', `the response is larger than ${limit} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /**
   * Ignores the body: reads a short one so that the server can finish it, and otherwise closes the connection, after `limitMs`
   * milliseconds at the latest. Resolves when nothing more is read.
   */
  async discard(limitMs: number): Promise<void> {
    const timer = setTimeout(() => this.close(), limitMs);
    try {
      await this.bytes(DISCARD_BYTES);
    } catch {
      this.close();
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.message.destroy();
  }
}
