/** One server-sent event (WHATWG HTML section 9.2). */
export interface SseFrame {
  readonly data: string;
  /** The client resumes after it with `Last-Event-ID`. It has no line breaks. */
  readonly id?: string | number;
}

/** Encodes one event. */
export function encodeSseFrame({ id, data }: SseFrame): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${singleLine(String(id))}`]),
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
