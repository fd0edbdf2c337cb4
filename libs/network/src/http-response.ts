import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { HttpFailure, httpFailureOf } from './http-failure.js';

/** Limits for reading a body that the caller ignores. A short body is read so that the server can finish its response. */
const DISCARD_BYTES = 64 * 1024;
const DISCARD_MS = 1_000;

/** The headers of a response, and its body as it arrives. Methods throw HttpFailure, or the reason of the request's signal. */
export class HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  private readonly body: Dispatcher.ResponseData['body'];

  constructor(
    { statusCode, headers, body }: Dispatcher.ResponseData,
    private readonly idleTimeoutMs: number,
    private readonly signal: AbortSignal,
  ) {
    this.status = statusCode;
    this.headers = headers;
    this.body = body;
    // An error of a body that nobody reads must not end the process. A reader of the body still gets it.
    body.on('error', () => undefined);
  }

  /** Yields the body as it arrives. The connection closes when the iteration ends, however it ends. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.body) yield chunk as Buffer;
    } catch (error) {
      if ((error as { code?: unknown }).code === 'UND_ERR_BODY_TIMEOUT') {
        throw new HttpFailure('unreachable', `the response was idle for ${this.idleTimeoutMs / 1000} s`);
      }
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

  /** Ignores the body: reads a short one so that the server can finish it, and closes the connection otherwise. */
  discard(): void {
    void this.body.dump({ limit: DISCARD_BYTES, signal: AbortSignal.timeout(DISCARD_MS) }).catch(() => undefined);
  }

  close(): void {
    this.body.destroy();
  }
}
