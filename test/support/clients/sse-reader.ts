import type { JsonObject } from '@app/domain';
import { parseSse, type SseArrival } from '@app/wire';

export type SseEvent = Extract<SseArrival, { type: 'event' }>;

/** A client of one SSE stream. */
export class SseReader {
  private readonly arrivals: AsyncIterator<SseArrival>;

  private constructor(
    readonly response: Response,
    private readonly connection: AbortController,
  ) {
    this.arrivals = parseSse(response.body!)[Symbol.asyncIterator]();
  }

  /** A GET, or a POST of the body. Throws with the answer's body unless a stream was opened. */
  static async open(
    url: string,
    token: string,
    more: Record<string, string> = {},
    body?: JsonObject,
  ): Promise<SseReader> {
    const connection = new AbortController();
    const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream', ...more };
    const sent =
      body === undefined
        ? { headers }
        : { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(url, { ...sent, signal: connection.signal });
    if (response.headers.get('content-type') !== 'text/event-stream') {
      throw new Error(`no stream: ${response.status} ${await response.text()}`);
    }
    return new SseReader(response, connection);
  }

  /** The next event, comments left out; null at the end of the stream. */
  async next(): Promise<SseEvent | null> {
    for (;;) {
      const { done, value } = await this.arrivals.next();
      if (done === true) return null;
      if (value.type === 'event') return value;
    }
  }

  /** Every event until the server closes the stream. */
  async rest(): Promise<SseEvent[]> {
    const events: SseEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) events.push(event);
    return events;
  }

  close(): void {
    this.connection.abort();
  }
}
