import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { TargetRules } from './target-rules.js';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Returns all addresses of a host name. Throws if there is none. */
export type Resolver = (name: string) => Promise<readonly ResolvedAddress[]>;

/** A connection to a host is not possible or not allowed. */
export class UnusableHost extends Error {
  constructor(
    message: string,
    /** The name did not resolve, but it may resolve later. */
    readonly isTemporary: boolean,
  ) {
    super(message);
  }
}

export const systemResolver: Resolver = (name) => systemLookup(name, { all: true, verbatim: true });

/**
 * Returns the addresses of a host after it has checked each of them. The connection must use `pinnedLookup`, because a second
 * lookup could return a different address. Throws UnusableHost, or the reason of the signal.
 */
export async function resolveTarget(
  host: string,
  rules: TargetRules,
  resolve: Resolver,
  signal: AbortSignal,
): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host);
  const addresses = family === 0 ? await abortable(lookupAll(host, resolve), signal) : [{ address: host, family }];
  for (const { address } of addresses) {
    const problem = rules.addressProblem(address);
    if (problem !== null) throw new UnusableHost(`the address of the host ${problem}`, false);
  }
  return addresses;
}

async function lookupAll(host: string, resolve: Resolver): Promise<readonly ResolvedAddress[]> {
  const addresses = await resolve(host).catch((error: unknown) => {
    throw new UnusableHost(`the host does not resolve${errorCodeSuffix(error)}`, true);
  });
  if (addresses.length === 0) throw new UnusableHost('the host does not resolve', true);
  return addresses;
}

/** Returns the `lookup` function of a connection to one of these addresses. */
export const pinnedLookup =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_name, options, callback) => {
    const [first] = addresses;
    if (options.all === true) {
      callback(
        null,
        addresses.map(({ address, family }) => ({ address, family })),
      );
    } else callback(null, first!.address, first!.family);
  };

/** Settles early if the signal aborts, because a lookup itself cannot be canceled. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Returns the code of a failed lookup or connection as ` (CODE)`. The error's message would reveal hosts and addresses. */
export function errorCodeSuffix(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? ` (${code})` : '';
}
