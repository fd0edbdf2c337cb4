import type { JsonObject } from '@app/domain';
import { parseSse, type SseItem } from '@app/wire';

export type SseEvent = Extract<SseItem, { type: 'event' }>;

/** A client of one SSE stream. */
export class SseReader {
  private readonly arrivals: AsyncIterator<SseItem>;

  private constructor(
    readonly response: Response,
    private readonly connection: AbortController,
  ) {
    this.arrivals = parseSse(response.body!)[Symbol.asyncIterator]();
  }

  /** Opens a stream with a GET, or with a POST of `body`. Throws with the response body when the response is no stream. */
  static async open(
    url: string,
    token: string,
    extraHeaders: Record<string, string> = {},
    body?: JsonObject,
  ): Promise<SseReader> {
    const connection = new AbortController();
    const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream', ...extraHeaders };
    const request =
      body === undefined
        ? { headers }
        : { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(url, { ...request, signal: connection.signal });
    if (response.headers.get('content-type') !== 'text/event-stream') {
      throw new Error(`no stream: ${response.status} ${await response.text()}`);
    }
    return new SseReader(response, connection);
  }

  /** Returns the next event and skips comments. Returns null at the end of the stream. */
  async next(): Promise<SseEvent | null> {
    for (;;) {
      const { done, value } = await this.arrivals.next();
      if (done === true) return null;
      if (value.type === 'event') return value;
    }
  }

  /** Reads the remaining events until the server closes the stream. */
  async remaining(): Promise<SseEvent[]> {
    const events: SseEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) events.push(event);
    return events;
  }

  close(): void {
    this.connection.abort();
  }
}
