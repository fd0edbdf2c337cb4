import { lookup as systemLookup } from 'node:dns/promises';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { hostOf, type PushPolicy } from '@app/tasks';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name. Throws when there is none. */
export type Resolver = (name: string) => Promise<readonly ResolvedAddress[]>;

/** Why a webhook was not told, in words that say nothing of where it is or what it answered. */
export class WebhookFailure extends Error {}

const ANSWER_BYTES = 64 * 1024;
const ANSWER_MS = 1_000;

const systemResolver: Resolver = (name) => systemLookup(name, { all: true, verbatim: true });

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
    const problem = this.policy.urlProblem(url);
    if (problem !== null) throw new WebhookFailure(`the URL ${problem}`);
    const timeout = AbortSignal.timeout(this.timeoutMs);
    const signal = AbortSignal.any([timeout, stop]);
    try {
      const addresses = await orAborted(this.addressesOf(hostOf(target.hostname)), signal);
      const status = await this.send(target, addresses, headers, body, signal);
      if (status >= 300 && status < 400) throw new WebhookFailure(`answered ${status}; redirects are not followed`);
      if (status < 200 || status >= 300) throw new WebhookFailure(`answered ${status}`);
    } catch (error) {
      if (error instanceof WebhookFailure) throw error;
      stop.throwIfAborted();
      if (timeout.aborted) throw new WebhookFailure(`no answer within ${this.timeoutMs / 1000} s`);
      throw new WebhookFailure(`the connection failed${codeOf(error)}`);
    }
  }

  private async addressesOf(host: string): Promise<readonly ResolvedAddress[]> {
    const literal = isIP(host);
    if (literal !== 0) return [{ address: host, family: literal }];
    const addresses = await this.resolve(host).catch((error: unknown) => {
      throw new WebhookFailure(`the name does not resolve${codeOf(error)}`);
    });
    if (addresses.length === 0) throw new WebhookFailure('the name does not resolve');
    for (const { address } of addresses) {
      const problem = this.policy.addressProblem(address);
      if (problem !== null) throw new WebhookFailure(`the name leads to what ${problem}`);
    }
    return addresses;
  }

  private send(
    target: URL,
    addresses: readonly ResolvedAddress[],
    headers: Record<string, string>,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<number> {
    const pinned: LookupFunction = (_name, options, callback) => {
      const [first] = addresses;
      if (options.all === true)
        callback(
          null,
          addresses.map(({ address, family }) => ({ address, family })),
        );
      else callback(null, first!.address, first!.family);
    };
    const options: RequestOptions = {
      method: 'POST',
      hostname: hostOf(target.hostname),
      port: target.port,
      path: `${target.pathname}${target.search}`,
      headers: { ...headers, 'Content-Length': body.length },
      // A connection of its own: none is kept that was checked under an earlier look-up.
      agent: false,
      lookup: pinned,
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

/** A look-up cannot be called off, but nobody needs to wait for it. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason as Error);
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}

/** The code alone: messages name hosts and addresses. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? ` (${code})` : '';
}
