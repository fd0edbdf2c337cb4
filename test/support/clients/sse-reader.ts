import { parseSseEvents, type SseEvent } from '@app/client';
import type { JsonObject } from '@app/domain';

const MAX_EVENT_LENGTH = 8 * 1024 * 1024;

/** A client of one SSE stream. */
export class SseReader {
  private readonly events: AsyncIterator<SseEvent>;

  private constructor(
    readonly response: Response,
    private readonly connection: AbortController,
  ) {
    this.events = parseSseEvents(response.body!, MAX_EVENT_LENGTH);
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

  /** Returns the next event, or null at the end of the stream. */
  async next(): Promise<SseEvent | null> {
    const { done, value } = await this.events.next();
    return done === true ? null : value;
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
