import type { Json } from '@app/domain';
import { type Resolver, TargetRules } from '@app/network';
import { parseJson, type RemoteCard, v03, v1, VERSION_HEADER } from '@app/wire';
import { A2aClient, decoded } from './a2a-client.js';
import { ClientFailure } from './client-failure.js';
import { bodyOf, GuardedHttp } from './guarded-http.js';

export interface ClientOptions {
  /** http, and addresses that are not public. */
  readonly allowPrivate: boolean;
  /** Bearer token, for the card and for the address that it names. */
  readonly token?: string;
  readonly resolve?: Resolver;
}

const WELL_KNOWN = '.well-known/agent-card.json';
const CARD_BYTES = 1024 * 1024;
const CARD_MS = 10_000;

/**
 * A client of the agent at this base URL (or of the card at a URL that ends in `.json`): reads its card and takes the first
 * address in it that speaks JSON-RPC of A2A 1.0 or 0.3. Throws ClientFailure, also for an address in the card that may not
 * be connected to.
 */
export async function connect(
  url: string,
  { allowPrivate, token, resolve }: ClientOptions,
  signal: AbortSignal,
  http = new GuardedHttp(new TargetRules(allowPrivate), resolve),
): Promise<A2aClient> {
  const cardUrl = cardUrlOf(url);
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const card = await readCard(http, cardUrl, headers, signal);
  const spoken = card.interfaces.find(({ binding }) => binding.toUpperCase() === 'JSONRPC');
  if (spoken === undefined) {
    throw new ClientFailure('invalid', 'its card names no address that speaks JSON-RPC of A2A 1.0 or 0.3');
  }
  if (!URL.canParse(spoken.url, cardUrl))
    throw new ClientFailure('invalid', 'its card names an address that is no URL');
  const at = { ...spoken, url: new URL(spoken.url, cardUrl).href };
  await http.check(at.url, signal).catch((error: unknown) => {
    if (!(error instanceof ClientFailure)) throw error;
    throw new ClientFailure(error.kind, `its card names ${at.url}: ${error.message}`);
  });
  const required = card.extensions.filter((extension) => extension.required).map(({ uri }) => uri);
  if (required.length > 0) headers['A2A-Extensions'] = required.join(', ');
  return new A2aClient(http, card, at, headers);
}

function cardUrlOf(url: string): string {
  const base = new URL(url);
  if (base.pathname.endsWith('.json')) return base.href;
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return new URL(WELL_KNOWN, base).href;
}

async function readCard(
  http: GuardedHttp,
  url: string,
  authorization: Record<string, string>,
  signal: AbortSignal,
): Promise<RemoteCard> {
  const read = (headers: Record<string, string>) => fetchJson(http, url, { ...authorization, ...headers }, signal);
  // The newest version first. An agent that refuses it has a card without a version.
  const json = await read({ [VERSION_HEADER]: '1.0' }).catch((error: unknown) => {
    if (ClientFailure.is(error, 'refused')) return read({});
    throw error;
  });
  const card = decoded(() => v1.client.decodeCard(json) ?? v03.client.decodeCard(json));
  if (card === undefined) throw new ClientFailure('invalid', 'what is there is no agent card');
  return card;
}

async function fetchJson(
  http: GuardedHttp,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Json> {
  const response = await http.send(url, {
    method: 'GET',
    headers: { Accept: 'application/json', ...headers },
    answerMs: CARD_MS,
    quietMs: CARD_MS,
    signal,
  });
  const body = await bodyOf(response, CARD_BYTES, signal);
  const status = response.statusCode!;
  if (status !== 200) {
    throw new ClientFailure(status >= 500 ? 'unreachable' : 'refused', `its card is answered with ${status}`, status);
  }
  try {
    return parseJson(body);
  } catch {
    throw new ClientFailure('invalid', 'its card is not JSON');
  }
}
