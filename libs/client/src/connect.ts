import type { Json } from '@app/domain';
import { HttpFailure, PinnedHttpClient, type Resolver, TargetRules } from '@app/network';
import { decodeCard, parseJson, type UpstreamCard, VERSION_HEADER } from '@app/wire';
import { A2aClient } from './a2a-client.js';
import { ClientFailure, decodeResponse, toClientFailure } from './client-failure.js';

export interface ClientOptions {
  /** Allow http, and addresses that are not public. */
  readonly allowPrivate: boolean;
  /** Bearer token, for the card and for the address that the card names. */
  readonly token?: string;
  readonly resolve?: Resolver;
}

const WELL_KNOWN_PATH = '.well-known/agent-card.json';
const MAX_CARD_BYTES = 1024 * 1024;
const CARD_TIMEOUT_MS = 10_000;

/**
 * Creates a client of the agent at a base URL, or of the card at a URL that ends in `.json`. It reads the card and uses the first
 * address in it with JSON-RPC of A2A 1.0 or 0.3. Throws ClientFailure, also if the rules forbid the address in the card.
 */
export async function connect(
  url: string,
  { allowPrivate, token, resolve }: ClientOptions,
  signal: AbortSignal,
  http = new PinnedHttpClient(new TargetRules(allowPrivate), resolve),
): Promise<A2aClient> {
  const cardUrl = cardUrlOf(url);
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const card = await readCard(http, cardUrl, headers, signal);
  const supported = card.interfaces.find(({ binding }) => binding.toUpperCase() === 'JSONRPC');
  if (supported === undefined) {
    throw new ClientFailure('invalid', 'the card lists no interface with JSON-RPC of a supported version (1.0, 0.3)');
  }
  if (!URL.canParse(supported.url, cardUrl)) {
    throw new ClientFailure('invalid', 'the card names an address that is not a URL');
  }
  const endpoint = { ...supported, url: new URL(supported.url, cardUrl).href };
  await http.check(endpoint.url, signal).catch((error: unknown) => {
    if (!(error instanceof HttpFailure)) throw error;
    throw new ClientFailure(error.kind, `the card names ${endpoint.url}: ${error.message}`);
  });
  return new A2aClient(http, card, endpoint, headers);
}

function cardUrlOf(url: string): string {
  const base = new URL(url);
  if (base.pathname.endsWith('.json')) return base.href;
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return new URL(WELL_KNOWN_PATH, base).href;
}

async function readCard(
  http: PinnedHttpClient,
  url: string,
  authorization: Record<string, string>,
  signal: AbortSignal,
): Promise<UpstreamCard> {
  const read = (headers: Record<string, string>) => fetchJson(http, url, { ...authorization, ...headers }, signal);
  // An agent that rejects the newest version has a card for requests without a version.
  const json = await read({ [VERSION_HEADER]: '1.0' }).catch((error: unknown) => {
    if (ClientFailure.is(error, 'rejected')) return read({});
    throw error;
  });
  const card = decodeResponse(() => decodeCard(json));
  if (card === undefined) throw new ClientFailure('invalid', 'the response is not an agent card');
  return card;
}

async function fetchJson(
  http: PinnedHttpClient,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Json> {
  let status: number;
  let body: Buffer;
  try {
    const response = await http.request(url, {
      method: 'GET',
      headers: { Accept: 'application/json', ...headers },
      responseTimeoutMs: CARD_TIMEOUT_MS,
      idleTimeoutMs: CARD_TIMEOUT_MS,
      signal,
    });
    ({ status } = response);
    body = await response.bytes(MAX_CARD_BYTES);
  } catch (error) {
    throw toClientFailure(error);
  }
  if (status !== 200) {
    const kind = status >= 500 ? 'unreachable' : 'rejected';
    throw new ClientFailure(kind, `the agent responded with status ${status} to the request for its card`, status);
  }
  try {
    return parseJson(body);
  } catch {
    throw new ClientFailure('invalid', 'the card is not JSON');
  }
}
