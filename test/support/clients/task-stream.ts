import type { JsonObject } from '@app/domain';
import type { WireTask } from './rpc.js';
import { SseReader } from './sse-reader.js';

/** One frame of a stream over JSON-RPC, in the shape of either version. */
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

/** A stream of an A2A method over JSON-RPC, frame by frame. */
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

  /** The next frame; null at the end of the stream. */
  async next(): Promise<Frame | null> {
    const event = await this.reader.next();
    if (event === null) return null;
    const { result, ...envelope } = JSON.parse(event.data) as Frame & { jsonrpc: string; id: string };
    if (envelope.jsonrpc !== '2.0' || envelope.id !== 'stream' || result === undefined) {
      throw new Error(`not a result of the call: ${event.data}`);
    }
    return { id: Number(event.id), result };
  }

  /** Frames until one satisfies, that one included; or to the end of the stream. */
  async until(satisfies: (frame: Frame) => boolean): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.next(); frame !== null; frame = await this.next()) {
      frames.push(frame);
      if (satisfies(frame)) break;
    }
    return frames;
  }

  rest(): Promise<Frame[]> {
    return this.until(() => false);
  }

  close(): void {
    this.reader.close();
  }
}

/** The state that a frame tells, in the words of its version. */
export const stateOf = ({ result }: Frame): string | undefined =>
  (result.task ?? result.statusUpdate ?? result).status?.state;

/** The number that the counting agent says in a frame. */
export function countOf({ result }: Frame): number | undefined {
  const text = (result.task ?? result.statusUpdate ?? result).status?.message?.parts[0]?.text;
  return text === undefined || !/^\d/.test(text) ? undefined : parseInt(text, 10);
}
