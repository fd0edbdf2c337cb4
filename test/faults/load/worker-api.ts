import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { http, type HttpResponse } from '../../support/clients/rpc.js';

const REQUEST_TIMEOUT_MS = 3_000;
const RETRY_MS = 50;

/** Thrown when the run has ended or belongs to a different worker. */
export class RunLost extends Error {}

/** A client of the HTTP worker API. It repeats every request without a response unchanged. */
export class WorkerApi {
  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly violation: (problem: string) => void,
  ) {}

  /** Throws RunLost when the run no longer belongs to this worker, and the reason of `stop`. The server may take `waitMs`. */
  async post<T>(path: string, body: JsonObject, stop?: AbortSignal, waitMs = 0): Promise<T> {
    for (;;) {
      stop?.throwIfAborted();
      const timeout = AbortSignal.timeout(waitMs + REQUEST_TIMEOUT_MS);
      const signal = stop === undefined ? timeout : AbortSignal.any([timeout, stop]);
      const options = { body: JSON.stringify(body), signal };
      const response = await http('POST', `${this.url}/api/${path}`, this.token, options).catch(() => null);
      if (response?.status === 200) return JSON.parse(response.text) as T;
      if (response?.status === 409) throw new RunLost(response.text);
      if (response !== null) this.checkError(path, response);
      await delay(RETRY_MS, undefined, { signal: stop });
    }
  }

  private checkError(path: string, { status, headers, text }: HttpResponse): void {
    if (status !== 503) this.violation(`${path} returned ${status} ${text} to an API worker`);
    else if (!headers.has('retry-after')) {
      this.violation(`${path} returned 503 without Retry-After to an API worker`);
    }
  }
}
