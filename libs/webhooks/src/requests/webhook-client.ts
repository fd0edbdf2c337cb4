import { HttpFailure, PinnedHttpClient } from '@app/network';
import { PushPolicy } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import { WebhookOptions } from '../webhook-options.js';
import { failureOfResponse, WebhookFailure } from './webhook-failure.js';

/** Limit for reading the rest of a response, in milliseconds. Its status is known before. */
const DISCARD_MS = 1_000;

/** Returns the longest duration of one attempt, in milliseconds. */
export const maxAttemptMs = ({ timeoutMs }: Pick<WebhookOptions, 'timeoutMs'>): number => timeoutMs + DISCARD_MS;

/** Posts to webhooks. Of a response, only the status and `Retry-After` count. */
@Injectable()
export class WebhookClient {
  private readonly http: PinnedHttpClient;

  constructor(
    { targets }: PushPolicy,
    private readonly options: WebhookOptions,
  ) {
    this.http = new PinnedHttpClient(targets, options.resolve);
  }

  /**
   * Resolves when the webhook has accepted the body (2xx), and after the connection has closed, so that a webhook has at most one.
   * Throws WebhookFailure, or the reason of `signal`.
   */
  async post(url: string, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<void> {
    const { timeoutMs } = this.options;
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
