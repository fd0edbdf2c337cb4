import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import {
  resolveTarget,
  errorCodeSuffix,
  hostWithoutBrackets,
  pinnedLookup,
  type Resolver,
  systemResolver,
  type TargetRules,
  UnusableHost,
} from '@app/network';
import { ClientFailure } from './client-failure.js';

export interface HttpSend {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: Buffer;
  /** How long the head of the answer may take. */
  readonly answerMs: number;
  /** How long the body may be silent. */
  readonly quietMs: number;
  readonly signal: AbortSignal;
}

/** So that a connection which is gone without a word is noticed. */
const PROBE_MS = 15_000;

/**
 * Requests to addresses that others choose: each time every address is checked, the connection goes to a checked address,
 * and redirects are not followed. Throws ClientFailure, or the signal's reason.
 */
export class GuardedHttp {
  constructor(
    private readonly rules: TargetRules,
    private readonly resolve: Resolver = systemResolver,
  ) {}

  /** Refuses a URL that leads where no connection may go. One whose name does not resolve now is not refused. */
  async check(url: string, signal: AbortSignal): Promise<void> {
    const error = await this.addresses(url, signal).then(
      () => null,
      (problem: unknown) => problem,
    );
    if (error !== null && !ClientFailure.is(error, 'unreachable')) throw error;
  }

  /** Resolves with the head of the answer; whoever gets it reads the body, or destroys it. */
  async send(url: string, { method, headers, body, answerMs, quietMs, signal }: HttpSend): Promise<IncomingMessage> {
    const addresses = await this.addresses(url, signal);
    const { hostname, port, pathname, search, protocol } = new URL(url);
    const options: RequestOptions = {
      method,
      hostname: hostWithoutBrackets(hostname),
      port,
      path: `${pathname}${search}`,
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Length': body.length }) },
      // A connection of its own: none is kept that was checked under an earlier look-up.
      agent: false,
      lookup: pinnedLookup(addresses),
      signal,
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
      const timer = setTimeout(() => {
        request.destroy(new ClientFailure('unreachable', `there was no answer within ${answerMs / 1000} s`));
      }, answerMs);
      request.once('socket', (socket) => socket.setKeepAlive(true, PROBE_MS));
      request.once('response', resolve);
      // Kept on: a connection may break more than once, and after the answer its body says so.
      request.on('error', (error) => reject(failureOf(error, signal)));
      request.once('close', () => clearTimeout(timer));
      request.once('response', () => clearTimeout(timer));
      request.end(body);
    });
    response.setTimeout(quietMs, () => {
      response.destroy(new ClientFailure('unreachable', `nothing came for ${quietMs / 1000} s`));
    });
    const status = response.statusCode!;
    if (status < 300 || status >= 400) return response;
    response.destroy();
    throw new ClientFailure('not-allowed', `it answered ${status}; redirects are not followed`);
  }

  private async addresses(url: string, signal: AbortSignal) {
    const problem = this.rules.urlProblem(url);
    if (problem !== null) throw new ClientFailure('not-allowed', `its URL ${problem}`);
    return resolveTarget(hostWithoutBrackets(new URL(url).hostname), this.rules, this.resolve, signal).catch(
      (error: unknown) => {
        if (!(error instanceof UnusableHost)) throw error;
        throw new ClientFailure(error.isTemporary ? 'unreachable' : 'not-allowed', error.message);
      },
    );
  }
}

/** The body's bytes. Throws ClientFailure when there are more than `limit`. */
export async function bodyOf(response: IncomingMessage, limit: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limit) throw new ClientFailure('invalid', `it answered more than ${limit} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw failureOf(error, signal);
  }
  return Buffer.concat(chunks);
}

/** What went wrong on a connection, without names of hosts and addresses. */
export function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof ClientFailure) return error;
  return new ClientFailure('unreachable', `the connection failed${errorCodeSuffix(error)}`);
}
