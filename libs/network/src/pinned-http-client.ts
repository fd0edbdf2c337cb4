import { hostWithoutBrackets, type TargetRules } from './target-rules.js';
import { resolveTarget, pinnedLookup, type Resolver, systemResolver } from './target-addresses.js';
import { HttpFailure, httpFailureOf } from './http-failure.js';
import { HttpResponse } from './http-response.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Limit for the address lookup, the connection and the response headers together, in milliseconds. */
  readonly responseTimeoutMs: number;
  /** Limit for the time between two chunks of the response body, in milliseconds; precise to about a second. */
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal;
}

/** TCP keep-alive: a stream may be quiet for long, and a peer that has disappeared must be noticed. */
const KEEP_ALIVE_PROBE_MS = 15_000;

/**
 * An HTTP client for URLs that somebody else chooses: webhooks and upstream agents.
 *
 * Each request resolves the host, checks every address against the rules, and opens a connection of its own to one of these
 * addresses. There is no second lookup that could return a different address. No connection is kept, because a later request
 * on it would use an address that was checked for an earlier one. Redirects are not followed.
 */
export class PinnedHttpClient {
  constructor(
    private readonly rules: TargetRules,
    private readonly resolve: Resolver = systemResolver,
  ) {}

  /** Throws HttpFailure if the rules forbid requests to this URL. A host that does not resolve now is not an error. */
  async check(url: string, signal: AbortSignal): Promise<void> {
    try {
      await this.addressesOf(new URL(url), signal);
    } catch (error) {
      const failure = httpFailureOf(error, signal);
      if (!(failure instanceof HttpFailure) || failure.kind !== 'unreachable') throw failure;
    }
  }

  /**
   * Sends a request and resolves with the response headers. The caller reads the body, discards it or closes it.
   * Throws HttpFailure, or the reason of `signal`.
   */
  async request(url: string, request: HttpRequest): Promise<HttpResponse> {
    const { method, headers, body, responseTimeoutMs, idleTimeoutMs, signal } = request;
    const target = new URL(url);
    // Not `AbortSignal.any`: a socket keeps its listener, and Node 20 never frees a combined signal that has one.
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const detach = () => signal.removeEventListener('abort', onAbort);
    const timer = setTimeout(() => {
      stop.abort(new HttpFailure('unreachable', `no response within ${responseTimeoutMs / 1000} s`));
    }, responseTimeoutMs);
    try {
      const addresses = await this.addressesOf(target, stop.signal);
      // Every process imports this library, undici takes 0.1 s to load, and most commands send nothing.
      const { Client } = await import('undici');
      const client = new Client(target.origin, {
        pipelining: 0,
        headersTimeout: 0,
        bodyTimeout: idleTimeoutMs,
        // A signal of the request takes effect in undici only after the connection is ready; this one also before.
        connect: {
          lookup: pinnedLookup(addresses),
          signal: stop.signal,
          timeout: 0,
          keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
        },
      });
      const path = `${target.pathname}${target.search}`;
      const data = await client.request({ method, path, headers, body: body ?? null, signal: stop.signal });
      data.body.once('close', detach);
      const response = new HttpResponse(data, idleTimeoutMs, stop.signal);
      const { status } = response;
      if (status < 300 || status >= 400) return response;
      response.close();
      throw new HttpFailure('not-allowed', `the target responded with status ${status}; redirects are not followed`);
    } catch (error) {
      detach();
      throw httpFailureOf(error, stop.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  private async addressesOf(url: URL, signal: AbortSignal) {
    const problem = this.rules.urlProblem(url.href);
    if (problem !== null) throw new HttpFailure('not-allowed', `the URL ${problem}`);
    return resolveTarget(hostWithoutBrackets(url.hostname), this.rules, this.resolve, signal);
  }
}
