import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { call, type RpcAnswer } from '../../support/clients/rpc.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { TaskStream } from '../../support/clients/task-stream.js';
import type { Fleet } from '../fleet/fleet.js';
import type { Random } from './random.js';

const REQUEST_MS = 6_000;
const RETRY_MS = 100;
/** How long clients go on trying once everything is well again. */
export const PATIENCE_MS = 30_000;

/** Code of A2A for a message to a task that has ended, and for following one. */
export const UNSUPPORTED_OPERATION = -32004;

/** Thrown where a client is out of patience: the storm is over, and it still has no answer. */
export class GaveUp extends Error {}

/** Asks any server that is up, and asks again what got no answer. What it should not be answered is a violation. */
export class CarefulClient {
  private until = Infinity;

  constructor(
    private readonly fleet: Pick<Fleet, 'urls'>,
    private readonly violation: (what: string) => void,
  ) {}

  /** All is well again: from now on patience has an end. */
  allIsWell(): void {
    this.until = Date.now() + PATIENCE_MS;
  }

  /** Throws GaveUp when patience has come to its end. */
  requirePatience(): void {
    if (Date.now() > this.until) throw new GaveUp();
  }

  /** A stream; null when it could not be opened now; `ended` when there is nothing to come. `at` is the agent's path. */
  async open(
    random: Random,
    method: 'SendStreamingMessage',
    params: JsonObject,
    asked: { at: string },
  ): Promise<TaskStream | null>;
  async open(
    random: Random,
    method: 'SubscribeToTask',
    params: JsonObject,
    asked: { lastEventId?: number },
  ): Promise<TaskStream | 'ended' | null>;
  async open(
    random: Random,
    method: string,
    params: JsonObject,
    { at = '', ...resume }: { at?: string; lastEventId?: number },
  ) {
    const url = await this.server(random);
    const opened = TaskStream.open(`${url}${at}`, TOKEN, method, params, resume);
    const late = delay(REQUEST_MS, null, { ref: false });
    try {
      const stream = await Promise.race([opened, late]);
      if (stream === null) void opened.then((unused) => unused.close()).catch(() => undefined);
      return stream;
    } catch (error) {
      const text = (error as Error).message;
      if (text.includes(`"code":${UNSUPPORTED_OPERATION}`)) return 'ended';
      if (text.startsWith('no stream:') && !text.startsWith('no stream: 503')) {
        this.violation(`${method} was refused with ${text}`);
      }
      await delay(RETRY_MS);
      return null;
    }
  }

  /** Asks until there is an answer; an error must be one of those that are right. */
  async ask(
    random: Random,
    method: string,
    params: JsonObject,
    { right = [], at = '' }: { right?: readonly number[]; at?: string },
  ): Promise<RpcAnswer> {
    for (;;) {
      this.requirePatience();
      const url = await this.server(random);
      let answer: RpcAnswer;
      try {
        answer = await call(`${url}${at}`, TOKEN, '1.0', method, params, AbortSignal.timeout(REQUEST_MS));
      } catch {
        await delay(RETRY_MS);
        continue;
      }
      const { status, headers, body, text } = answer;
      if (body.result !== undefined || right.includes(body.error!.code)) return answer;
      if (status !== 503) this.violation(`${method} was answered with ${status} ${text}`);
      else if (!headers.has('retry-after')) this.violation(`${method} was answered with 503 without Retry-After`);
      await delay(RETRY_MS);
    }
  }

  private async server(random: Random): Promise<string> {
    for (;;) {
      this.requirePatience();
      const { urls } = this.fleet;
      if (urls.length > 0) return random.pick(urls);
      await delay(RETRY_MS);
    }
  }
}
