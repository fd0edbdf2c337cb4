import { HttpFailure, PinnedHttpClient, type Resolver } from '@app/network';
import type { PushPolicy } from '@app/tasks';
import { failureOfResponse, WebhookFailure } from './webhook-failure.js';

/** Limit for reading the rest of a response, in milliseconds. Its status is known before. */
const DISCARD_MS = 1_000;

/** Posts to webhooks. Of a response, only the status and `Retry-After` count. */
export class WebhookClient {
  private readonly http: PinnedHttpClient;

  constructor(
    { targets }: PushPolicy,
    /** Limit for the response headers of one attempt, in milliseconds. */
    private readonly timeoutMs: number,
    resolve?: Resolver,
  ) {
    this.http = new PinnedHttpClient(targets, resolve);
  }

  /** The longest duration of one attempt, in milliseconds. */
  get maxAttemptMs(): number {
    return this.timeoutMs + DISCARD_MS;
  }

  /**
   * Resolves when the webhook has accepted the body (2xx), and after the connection has closed, so that a webhook has at most one.
   * Throws WebhookFailure, or the reason of `signal`.
   */
  async post(url: string, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<void> {
    const { timeoutMs } = this;
    const request = { method: 'POST', headers, body, responseTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs } as const;
    const response = await this.http.request(url, { ...request, signal }).catch((error: unknown) => {
      throw error instanceof HttpFailure ? failureOf(error) : error;
    });
    await response.discard(DISCARD_MS);
    const failure = failureOfResponse(response, Date.now());
    if (failure !== null) throw failure;
  }
}

/** Returns the failure of a request that has no usable response, or whose response was a redirect. */
function failureOf({ status, message }: HttpFailure): WebhookFailure {
  const failure = status === null ? null : failureOfResponse({ status, headers: {} }, Date.now(), message);
  return failure ?? new WebhookFailure('temporary', message);
}
