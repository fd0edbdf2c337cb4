import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { call, type RpcResponse } from '../../support/clients/rpc.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { type Frame, TaskStream } from '../../support/clients/task-stream.js';
import type { Fleet } from '../fleet/fleet.js';
import type { Random } from './random.js';

const REQUEST_TIMEOUT_MS = 6_000;
const RETRY_MS = 100;
const IDLE_TIMEOUT_MS = 8_000;
/** How long clients retry after the end of all faults. */
export const RECOVERY_TIMEOUT_MS = 30_000;

/** The A2A error code of a message to a task in a terminal state, and of a subscription to one. */
export const UNSUPPORTED_OPERATION = -32004;

/** Thrown when a request got no response within `RECOVERY_TIMEOUT_MS` after the end of all faults. */
export class NoResponse extends Error {}

/** A stream that has begun, and its first frame. */
interface OpenedStream {
  readonly stream: TaskStream;
  readonly first: Frame;
}

/** Sends requests to any server that is up, and repeats those without a response. An unexpected response is a violation. */
export class RetryingClient {
  private deadline = Infinity;

  constructor(
    private readonly fleet: Pick<Fleet, 'urls'>,
    private readonly violation: (problem: string) => void,
  ) {}

  /** Starts the recovery timeout, at the end of all faults. */
  startDeadline(): void {
    this.deadline = Date.now() + RECOVERY_TIMEOUT_MS;
  }

  /** Throws NoResponse after the recovery timeout. */
  checkDeadline(): void {
    if (Date.now() > this.deadline) throw new NoResponse();
  }

  /**
   * Opens a stream and reads its first frame. Returns null when there is none now, and `ended` when the task is in a terminal
   * state. An error of the call is a response without a stream, or a stream of one error frame.
   */
  async open(
    random: Random,
    method: 'SendStreamingMessage',
    params: JsonObject,
    options: { agentPath: string },
  ): Promise<OpenedStream | null>;
  async open(
    random: Random,
    method: 'SubscribeToTask',
    params: JsonObject,
    options: { lastEventId?: number },
  ): Promise<OpenedStream | 'ended' | null>;
  async open(
    random: Random,
    method: string,
    params: JsonObject,
    { agentPath = '', ...resume }: { agentPath?: string; lastEventId?: number },
  ) {
    const url = await this.pickServer(random);
    const opened = TaskStream.open(`${url}${agentPath}`, TOKEN, method, params, resume);
    const timeout = delay(REQUEST_TIMEOUT_MS, null, { ref: false });
    try {
      const stream = await Promise.race([opened, timeout]);
      if (stream === null) {
        void opened.then((unused) => unused.close()).catch(() => undefined);
        return null;
      }
      const first = await nextFrame(stream);
      return first === null ? null : { stream, first };
    } catch (error) {
      const text = (error as Error).message;
      if (text.includes(`"code":${UNSUPPORTED_OPERATION}`)) return 'ended';
      if (/^(?:no stream|error frame):/.test(text) && !text.startsWith('no stream: 503')) {
        this.violation(`${method} was rejected with ${text}`);
      }
      await delay(RETRY_MS);
      return null;
    }
  }

  /** Repeats a call until there is a response. An error response must have one of the expected codes. */
  async call(
    random: Random,
    method: string,
    params: JsonObject,
    { expectedErrors = [], agentPath = '' }: { expectedErrors?: readonly number[]; agentPath?: string },
  ): Promise<RpcResponse> {
    for (;;) {
      this.checkDeadline();
      const url = await this.pickServer(random);
      let response: RpcResponse;
      try {
        const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
        response = await call(`${url}${agentPath}`, TOKEN, '1.0', method, params, signal);
      } catch {
        await delay(RETRY_MS);
        continue;
      }
      const { status, headers, body, text } = response;
      if (body.result !== undefined || expectedErrors.includes(body.error!.code)) return response;
      if (status !== 503) this.violation(`${method} returned ${status} ${text}`);
      else if (!headers.has('retry-after')) this.violation(`${method} returned 503 without Retry-After`);
      await delay(RETRY_MS);
    }
  }

  private async pickServer(random: Random): Promise<string> {
    for (;;) {
      this.checkDeadline();
      const { urls } = this.fleet;
      if (urls.length > 0) return random.pick(urls);
      await delay(RETRY_MS);
    }
  }
}

/** Returns the next frame. A paused server neither sends nor closes, so the client closes the stream after a timeout. */
export function nextFrame(stream: TaskStream): Promise<Frame | null> {
  const timeout = setTimeout(() => stream.close(), IDLE_TIMEOUT_MS);
  return stream.next().finally(() => clearTimeout(timeout));
}
