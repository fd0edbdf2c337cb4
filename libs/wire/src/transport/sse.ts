/** One server-sent event (WHATWG HTML section 9.2). */
export interface SseFrame {
  readonly data: string;
  /** The client resumes after it with `Last-Event-ID`. It has no line breaks. */
  readonly id?: string | number;
  readonly event?: string;
  /** Delay before the client reconnects, in milliseconds. */
  readonly retry?: number;
}

/** Encodes one event. */
export function encodeSseFrame({ id, event, data, retry }: SseFrame): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${singleLine(String(id))}`]),
    ...(event === undefined ? [] : [`event: ${singleLine(event)}`]),
    ...(retry === undefined ? [] : [`retry: ${Math.trunc(retry)}`]),
    ...data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}

/** Encodes a comment, which clients ignore. It keeps an idle connection open through proxies. */
export const encodeSseComment = (text: string): string => `: ${singleLine(text)}\n\n`;

/** Encodes the reconnection delay of the client, without an event. */
export const encodeSseRetry = (milliseconds: number): string => `retry: ${Math.trunc(milliseconds)}\n\n`;

function singleLine(text: string): string {
  if (/[\r\n\0]/.test(text)) {
    throw new Error(`a field of a server-sent event must be a single line, not ${JSON.stringify(text)}`);
  }
  return text;
}

const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** An item of a parsed stream: an event, or a comment. `id` is that of the last event that had one. */
export type SseItem =
  | {
      readonly type: 'event';
      readonly event: string;
      readonly data: string;
      readonly id: string;
      readonly retry?: number;
    }
  | { readonly type: 'comment'; readonly text: string };

/**
 * Parses a stream of server-sent events. Memory is bounded: it throws if an event or a line is longer than `maxEventBytes`. An
 * incomplete event at the end of the stream is dropped, as the standard requires; the reader resumes after the last `id`.
 */
export async function* parseSse(
  chunks: AsyncIterable<Uint8Array>,
  { maxEventBytes = MAX_EVENT_BYTES }: { maxEventBytes?: number } = {},
): AsyncGenerator<SseItem> {
  const decoder = new TextDecoder('utf-8');
  const fields = new SseFields();
  let remainder = '';
  for await (const chunk of chunks) {
    remainder += decoder.decode(chunk, { stream: true });
    // A CR at the end of a chunk can be the first half of a CRLF, so it stays in the remainder.
    const lines = remainder.split(/\r\n|\n|\r(?!$)/);
    remainder = lines.pop() ?? '';
    for (const line of lines) {
      const item = fields.line(line);
      if (item !== undefined) yield item;
    }
    if (remainder.length + fields.size > maxEventBytes)
      throw new Error(`an event of the stream is longer than ${maxEventBytes} bytes`);
  }
}

class SseFields {
  private data: string[] = [];
  private event = '';
  private id = '';
  private retry: number | undefined;
  /** Size of the current event so far, in UTF-16 units. */
  size = 0;

  line(line: string): SseItem | undefined {
    if (line === '') return this.dispatch();
    if (line.startsWith(':')) return { type: 'comment', text: line.slice(1).replace(/^ /, '') };
    this.size += line.length;
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.data.push(value);
    else if (name === 'event') this.event = value;
    else if (name === 'id' && !value.includes('\0')) this.id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
    return undefined;
  }

  private dispatch(): SseItem | undefined {
    const { data, event, id, retry } = this;
    this.data = [];
    this.event = '';
    this.size = 0;
    if (data.length === 0) return undefined;
    this.retry = undefined;
    const optional = retry === undefined ? {} : { retry };
    return { type: 'event', event: event || 'message', data: data.join('\n'), id, ...optional };
  }
}
