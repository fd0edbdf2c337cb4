import type { JsonObject } from '@app/domain';
import type { WireTask } from './rpc.js';
import { SseReader } from './sse-reader.js';

/** One frame of a JSON-RPC stream, in the shape of v1.0 or v0.3. */
export interface Frame {
  readonly id: number;
  readonly result: {
    readonly task?: WireTask;
    readonly message?: { messageId: string; role: string; parts: { text?: string }[] };
    readonly statusUpdate?: { taskId: string; contextId: string; status: WireTask['status'] };
    readonly artifactUpdate?: { artifact: { parts: { text?: string }[] } };
    readonly kind?: string;
    readonly final?: boolean;
    readonly status?: WireTask['status'];
  };
}

/** A client of one JSON-RPC stream of A2A. */
export class TaskStream {
  private constructor(private readonly reader: SseReader) {}

  static async open(
    url: string,
    token: string,
    method: string,
    params: JsonObject,
    { version = '1.0', lastEventId }: { version?: string; lastEventId?: number | string } = {},
  ): Promise<TaskStream> {
    const headers = {
      'A2A-Version': version,
      ...(lastEventId === undefined ? {} : { 'Last-Event-ID': String(lastEventId) }),
    };
    const body = { jsonrpc: '2.0', id: 'stream', method, params };
    return new TaskStream(await SseReader.open(`${url}/a2a`, token, headers, body));
  }

  /** Returns the next frame, or null at the end of the stream. Throws `error frame: …` for the error of the call. */
  async next(): Promise<Frame | null> {
    const event = await this.reader.next();
    if (event === null) return null;
    const { result, error, ...envelope } = JSON.parse(event.data) as Frame & {
      jsonrpc: string;
      id: string;
      error?: JsonObject;
    };
    if (error !== undefined) throw new Error(`error frame: ${JSON.stringify(error)}`);
    if (envelope.jsonrpc !== '2.0' || envelope.id !== 'stream' || result === undefined) {
      throw new Error(`the frame is not a result of the call: ${event.data}`);
    }
    return { id: Number(event.id), result };
  }

  /** Reads frames up to and including the first that satisfies the condition, or to the end of the stream. */
  async until(satisfies: (frame: Frame) => boolean): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.next(); frame !== null; frame = await this.next()) {
      frames.push(frame);
      if (satisfies(frame)) break;
    }
    return frames;
  }

  remaining(): Promise<Frame[]> {
    return this.until(() => false);
  }

  close(): void {
    this.reader.close();
  }
}

/** Returns the task state in a frame, as its version names it. */
export const stateOf = ({ result }: Frame): string | undefined =>
  (result.task ?? result.statusUpdate ?? result).status?.state;

/** Returns the number in a frame of the agent `counter`. */
export function countOf({ result }: Frame): number | undefined {
  const text = (result.task ?? result.statusUpdate ?? result).status?.message?.parts[0]?.text;
  return text === undefined || !/^\d/.test(text) ? undefined : parseInt(text, 10);
}

/** Returns the numbers in frames of the agent `counter`, in order. */
export const countsIn = (frames: readonly Frame[]): number[] =>
  frames.map(countOf).filter((count) => count !== undefined);

/** Returns the integers from `from` to `to`. */
export const integers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
