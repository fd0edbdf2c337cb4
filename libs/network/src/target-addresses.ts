import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { TargetRules } from './target-rules.js';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name. Throws when there is none. */
export type Resolver = (name: string) => Promise<readonly ResolvedAddress[]>;

/** Why a name leads nowhere that a connection may go, in words that say nothing of where it leads. */
export class UnusableHost extends Error {
  constructor(
    message: string,
    /** The name may lead elsewhere later: it did not resolve. */
    readonly isTemporary: boolean,
  ) {
    super(message);
  }
}

export const systemResolver: Resolver = (name) => systemLookup(name, { all: true, verbatim: true });

/**
 * The addresses of a host, every one of them checked. A connection goes to these alone (`pinnedTo`): between check and
 * connection there is no second look-up that could lead elsewhere. Throws UnusableName, or the signal's reason.
 */
export async function resolveTarget(
  host: string,
  rules: TargetRules,
  resolve: Resolver,
  signal: AbortSignal,
): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host);
  const addresses = family === 0 ? await orAborted(resolved(host, resolve), signal) : [{ address: host, family }];
  for (const { address } of addresses) {
    const problem = rules.addressProblem(address);
    if (problem !== null) throw new UnusableHost(`the name leads to what ${problem}`, false);
  }
  return addresses;
}

async function resolved(host: string, resolve: Resolver): Promise<readonly ResolvedAddress[]> {
  const addresses = await resolve(host).catch((error: unknown) => {
    throw new UnusableHost(`the name does not resolve${errorCodeSuffix(error)}`, true);
  });
  if (addresses.length === 0) throw new UnusableHost('the name does not resolve', true);
  return addresses;
}

/** The `lookup` of a connection that goes to one of these addresses, whatever the name says by now. */
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

/** A look-up cannot be called off, but nobody needs to wait for it. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason as Error);
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}

/** The code of a failed look-up or connection, as ` (CODE)`; messages name hosts and addresses, so they are left out. */
export function errorCodeSuffix(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? ` (${code})` : '';
}
