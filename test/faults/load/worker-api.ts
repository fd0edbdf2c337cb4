import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { http, type HttpAnswer } from '../../support/clients/rpc.js';

const REQUEST_MS = 3_000;
const RETRY_MS = 50;

/** The run is someone else's by now, or over. */
export class Lost extends Error {}

/** Calls of a remote worker. Whatever gets no answer is asked again, as it was. */
export class WorkerApi {
  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly violation: (what: string) => void,
  ) {}

  /** Throws Lost when the run is no longer this worker's, and the reason of `stop`. `waitMs`: how long it may rightly take. */
  async post<T>(path: string, body: JsonObject, stop?: AbortSignal, waitMs = 0): Promise<T> {
    for (;;) {
      stop?.throwIfAborted();
      const late = AbortSignal.timeout(waitMs + REQUEST_MS);
      const signal = stop === undefined ? late : AbortSignal.any([late, stop]);
      const options = { body: JSON.stringify(body), signal };
      const answer = await http('POST', `${this.url}/api/${path}`, this.token, options).catch(() => null);
      if (answer?.status === 200) return JSON.parse(answer.text) as T;
      if (answer?.status === 409) throw new Lost(answer.text);
      if (answer !== null) this.requireRight(path, answer);
      await delay(RETRY_MS, undefined, { signal: stop });
    }
  }

  private requireRight(path: string, { status, headers, text }: HttpAnswer): void {
    if (status !== 503) this.violation(`a remote worker was answered ${status} ${text} at ${path}`);
    else if (!headers.has('retry-after')) {
      this.violation(`a remote worker was answered with 503 without Retry-After at ${path}`);
    }
  }
}
