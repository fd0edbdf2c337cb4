import { HttpFailure, PinnedHttpClient, type Resolver } from '@app/network';
import type { PushPolicy } from '@app/tasks';

/** Why an attempt failed. The message contains neither the URL nor the body of the response. */
export class WebhookFailure extends Error {}

/** Posts to webhooks. Of a response, only the status counts. */
export class WebhookClient {
  private readonly http: PinnedHttpClient;

  constructor(
    { targets }: PushPolicy,
    /** Limit for one attempt, in milliseconds. */
    readonly timeoutMs: number,
    resolve?: Resolver,
  ) {
    this.http = new PinnedHttpClient(targets, resolve);
  }

  /** Resolves when the webhook has accepted the body (2xx). Throws WebhookFailure, or the reason of `signal`. */
  async post(url: string, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<void> {
    const { timeoutMs } = this;
    const request = { method: 'POST', headers, body, responseTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs } as const;
    const response = await this.http.request(url, { ...request, signal }).catch((error: unknown) => {
      throw error instanceof HttpFailure ? new WebhookFailure(error.message) : error;
    });
    response.discard();
    const { status } = response;
    if (status < 200 || status >= 300) throw new WebhookFailure(`the target responded with status ${status}`);
  }
}
