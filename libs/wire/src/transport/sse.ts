/** One server-sent event (WHATWG HTML section 9.2). */
export interface SseFrame {
  readonly data: string;
  /** For `Last-Event-ID`; without line breaks. */
  readonly id?: string | number;
  readonly event?: string;
  /** Milliseconds that the client waits before it reconnects. */
  readonly retry?: number;
}

export function encodeSseFrame({ id, event, data, retry }: SseFrame): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${oneLine(String(id))}`]),
    ...(event === undefined ? [] : [`event: ${oneLine(event)}`]),
    ...(retry === undefined ? [] : [`retry: ${Math.trunc(retry)}`]),
    ...data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}

/** A comment keeps a quiet connection open through proxies; clients never see it. */
export const encodeSseComment = (text: string): string => `: ${oneLine(text)}\n\n`;

/** Tells clients when to come back, without an event. */
export const encodeSseRetry = (milliseconds: number): string => `retry: ${Math.trunc(milliseconds)}\n\n`;

function oneLine(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new Error('a field of a server-sent event must be one line');
  return text;
}

const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** What arrives on a stream: an event, or a comment, which tests wait for. `id` is the last one seen. */
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
 * Parses a stream of server-sent events. Memory is bounded: an event, or a line, longer than `maxEventBytes` throws. An event
 * that the stream's end cuts off is dropped, as the standard says; the reader resumes after the last `id`.
 */
export async function* parseSse(
  chunks: AsyncIterable<Uint8Array>,
  { maxEventBytes = MAX_EVENT_BYTES }: { maxEventBytes?: number } = {},
): AsyncGenerator<SseItem> {
  const decoder = new TextDecoder('utf-8');
  const fields = new SseFields();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A CR at the very end may be half of a CRLF: it waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const arrival = fields.line(line);
      if (arrival !== undefined) yield arrival;
    }
    if (rest.length + fields.size > maxEventBytes) throw new Error(`an event is longer than ${maxEventBytes} bytes`);
  }
}

class SseFields {
  private data: string[] = [];
  private event = '';
  private id = '';
  private retry: number | undefined;
  /** UTF-16 units held for the event that is being read. */
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
    const waits = retry === undefined ? {} : { retry };
    return { type: 'event', event: event || 'message', data: data.join('\n'), id, ...waits };
  }
}
