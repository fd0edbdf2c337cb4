import { StreamResponse } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { LegacyJsonRpcTransport, LegacyRestTransport } from '@a2a-js/sdk/compat/v0_3/client';
import { TOKEN } from '../../support/processes/start-server.js';

type Operation = 'sendMessage' | 'sendMessageStream' | 'resubscribeTask' | 'getTask' | 'cancelTask';
type PushOperation = `${'create' | 'get' | 'list' | 'delete'}TaskPushNotificationConfig`;
/** What the clients and the transports of the official SDK have in common. */
export type OfficialClient = Pick<Client, Operation | PushOperation>;

/** A way to create a client of the official SDK. */
export interface ClientSetup {
  readonly binding: 'JSON-RPC' | 'HTTP+JSON';
  readonly version: '1.0' | '0.3';
  readonly discovery: 'from the agent card' | 'from its endpoint';
  /** The request that sends a message, as `recordingFetch` records it. */
  readonly sendRequest: string;
  readonly connect: (url: string, fetchImpl: typeof fetch) => Promise<OfficialClient>;
}

const TRANSPORTS = { 'JSON-RPC': JsonRpcTransportFactory, 'HTTP+JSON': RestTransportFactory };
const LEGACY_TRANSPORTS = { 'JSON-RPC': LegacyJsonRpcTransport, 'HTTP+JSON': LegacyRestTransport };

export const CLIENT_SETUPS: ClientSetup[] = (['JSON-RPC', 'HTTP+JSON'] as const).flatMap((binding): ClientSetup[] => {
  const sendRequestOf = (method: string, address: string) =>
    binding === 'JSON-RPC' ? `POST /a2a ${method}` : `POST ${address}/message:send`;
  const v03 = { binding, version: '0.3' } as const;
  return [
    {
      binding,
      version: '1.0',
      discovery: 'from the agent card',
      sendRequest: sendRequestOf('SendMessage', '/a2a/v1'),
      connect: (url, fetchImpl) => clientFromCard(binding, url, fetchImpl),
    },
    {
      ...v03,
      discovery: 'from the agent card',
      sendRequest: sendRequestOf('message/send', '/a2a/http-json/v1'),
      connect: (url, fetchImpl) => clientFromCard(binding, url, fetchImpl, cardResolver('0.3')),
    },
    {
      ...v03,
      discovery: 'from its endpoint',
      sendRequest: sendRequestOf('message/send', '/a2a/v1'),
      connect: async (url, fetchImpl) => new LEGACY_TRANSPORTS[binding]({ endpoint: `${url}/a2a`, fetchImpl }),
    },
  ];
});

/** Creates a client for the interface of a binding that the card of a server lists. */
export function clientFromCard(
  binding: ClientSetup['binding'],
  url: string,
  fetchImpl: typeof fetch,
  resolver = new DefaultAgentCardResolver(),
): Promise<Client> {
  const transports = [new TRANSPORTS[binding]({ fetchImpl, legacyCompat: { enabled: true } })];
  return new ClientFactory({ transports, cardResolver: resolver }).createFromUrl(url);
}

/** A resolver that requests the card in a version; null: without `A2A-Version`. */
export function cardResolver(version: '0.3' | null): DefaultAgentCardResolver {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (version === null) headers.delete('A2A-Version');
    else headers.set('A2A-Version', version);
    return fetch(input, { ...init, headers });
  };
  return new DefaultAgentCardResolver({ fetchImpl, legacyCompat: { enabled: true } });
}

/** Returns a `fetch` with a credential that records each request: its method, its path and the JSON-RPC method. */
export function recordingFetch(requests: Set<string>): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('Authorization', `Bearer ${TOKEN}`);
    const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as { method?: string }) : {};
    const method = body.method === undefined ? '' : ` ${body.method}`;
    requests.add(`${init?.method ?? 'GET'} ${new URL(input as string).pathname}${method}`);
    return fetch(input, { ...init, headers });
  };
}

interface EncodedUpdate {
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text?: string }[] } };
  readonly statusUpdate?: { readonly status: { readonly state: string } };
}

/** Reads a stream to its end. Returns the kinds of its updates, the text of its artifacts, and the state of its last update. */
export async function readStream(stream: AsyncIterable<StreamResponse>) {
  const updates: StreamResponse[] = [];
  for await (const update of stream) updates.push(update);
  const encoded = updates.map((update) => StreamResponse.toJSON(update) as EncodedUpdate);
  return {
    kinds: updates.map(({ payload }) => payload?.$case),
    text: encoded
      .flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? [])
      .map(({ text }) => text)
      .join(''),
    state: encoded.at(-1)?.statusUpdate?.status.state,
  };
}
