import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
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
  /** Limit for the time between two chunks of the response body, in milliseconds. */
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
      const message = await send(target, {
        method,
        headers,
        body,
        lookup: pinnedLookup(addresses),
        signal: stop.signal,
      });
      message.once('close', detach);
      const response = new HttpResponse(message, idleTimeoutMs, stop.signal);
      const { status } = response;
      if (status < 300 || status >= 400) return response;
      response.close();
      const problem = `the target responded with status ${status}; redirects are not followed`;
      throw new HttpFailure('not-allowed', problem, status);
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

/** Sends a request on a connection of its own, and resolves with the response headers. Informational responses are ignored. */
function send(
  target: URL,
  {
    body,
    ...options
  }: Pick<HttpRequest, 'method' | 'headers' | 'body'> & {
    readonly lookup: LookupFunction;
    readonly signal: AbortSignal;
  },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request } = target.protocol === 'https:' ? https : http;
    // Without an agent, the connection is used once.
    const sent = request(target, { ...options, agent: false });
    // The listener stays, because a connection can fail after the response.
    sent.on('response', resolve).on('error', reject);
    // A switch to a different protocol was not requested. It ends the connection, without an error event.
    sent.on('upgrade', (_response, socket) => socket.destroy());
    sent.on('close', () => reject(Object.assign(new Error('closed without a response'), { code: 'ECONNRESET' })));
    sent.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS));
    sent.end(body);
  });
}
