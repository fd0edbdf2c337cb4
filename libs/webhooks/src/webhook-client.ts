import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import {
  resolveTarget,
  errorCodeSuffix,
  hostWithoutBrackets,
  pinnedLookup,
  type ResolvedAddress,
  type Resolver,
  systemResolver,
  UnusableHost,
} from '@app/network';
import type { PushPolicy } from '@app/tasks';

/** Why a webhook was not told, in words that say nothing of where it is or what it answered. */
export class WebhookFailure extends Error {}

const ANSWER_BYTES = 64 * 1024;
const ANSWER_MS = 1_000;

/**
 * Posts to webhooks, whose addresses anyone may choose. Each time the name is resolved, every address is checked, and the
 * connection goes to a checked address: between check and connection there is no second look-up that could lead elsewhere.
 * Redirects are not followed, and of an answer only the status counts.
 */
export class WebhookClient {
  constructor(
    private readonly policy: PushPolicy,
    readonly timeoutMs: number,
    private readonly resolve: Resolver = systemResolver,
  ) {}

  /** Resolves once the webhook has taken it (2xx). Throws WebhookFailure, or the reason of `stop`. */
  async post(url: string, headers: Record<string, string>, body: Buffer, stop: AbortSignal): Promise<void> {
    const target = new URL(url);
    const problem = this.policy.targets.urlProblem(url);
    if (problem !== null) throw new WebhookFailure(`the URL ${problem}`);
    const timeout = AbortSignal.timeout(this.timeoutMs);
    const signal = AbortSignal.any([timeout, stop]);
    try {
      const addresses = await resolveTarget(
        hostWithoutBrackets(target.hostname),
        this.policy.targets,
        this.resolve,
        signal,
      );
      const status = await this.send(target, addresses, headers, body, signal);
      if (status >= 300 && status < 400) throw new WebhookFailure(`answered ${status}; redirects are not followed`);
      if (status < 200 || status >= 300) throw new WebhookFailure(`answered ${status}`);
    } catch (error) {
      if (error instanceof WebhookFailure) throw error;
      if (error instanceof UnusableHost) throw new WebhookFailure(error.message);
      stop.throwIfAborted();
      if (timeout.aborted) throw new WebhookFailure(`no answer within ${this.timeoutMs / 1000} s`);
      throw new WebhookFailure(`the connection failed${errorCodeSuffix(error)}`);
    }
  }

  private send(
    target: URL,
    addresses: readonly ResolvedAddress[],
    headers: Record<string, string>,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<number> {
    const options: RequestOptions = {
      method: 'POST',
      hostname: hostWithoutBrackets(target.hostname),
      port: target.port,
      path: `${target.pathname}${target.search}`,
      headers: { ...headers, 'Content-Length': body.length },
      // A connection of its own: none is kept that was checked under an earlier look-up.
      agent: false,
      lookup: pinnedLookup(addresses),
      signal,
    };
    return new Promise((resolve, reject) => {
      const request = target.protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
      request.once('response', (response) => {
        discard(response);
        resolve(response.statusCode!);
      });
      // Kept on: a connection may break more than once, and after the answer nobody minds.
      request.on('error', reject);
      request.end(body);
    });
  }
}

/** Lets a polite server finish its answer, and no other. */
function discard(response: IncomingMessage): void {
  let bytes = 0;
  const enough = () => void response.destroy();
  const timer = setTimeout(enough, ANSWER_MS);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) enough();
  });
  response.on('error', () => undefined);
  response.once('close', () => clearTimeout(timer));
}
