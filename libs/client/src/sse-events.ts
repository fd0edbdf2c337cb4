import { createParser } from 'eventsource-parser';
import { ClientFailure } from './client-failure.js';

export interface SseEvent {
  readonly data: string;
  /** The last id of the stream, for `Last-Event-ID`; empty if the stream has sent none. */
  readonly id: string;
}

/**
 * Parses a stream of server-sent events (WHATWG HTML section 9.2) and ignores comments. Memory is bounded: an incomplete line
 * and the data of an incomplete event must not exceed `maxLength` UTF-16 units together, or the stream ends with ClientFailure
 * (`invalid`). An event that the end of the stream cuts off is dropped, as the standard requires.
 */
export async function* parseSseEvents(chunks: AsyncIterable<Uint8Array>, maxLength: number): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  const events: SseEvent[] = [];
  let lastId = '';
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxLength,
    onEvent({ id, data }) {
      lastId = id ?? lastId;
      events.push({ id: lastId, data });
    },
    onError({ type }) {
      // The standard requires to ignore unknown fields and invalid values.
      if (type === 'max-buffer-size-exceeded') isTooLong = true;
    },
  });
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
    if (isTooLong) throw new ClientFailure('invalid', `an event of the stream is longer than ${maxLength} characters`);
  }
}
