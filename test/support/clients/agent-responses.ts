import type { RequestListener } from 'node:http';
import { ClientFailure } from '@app/client';
import type { JsonObject } from '@app/domain';
import { type CardDescription, cardInterfaces } from '@app/wire';

/** Describes an agent with JSON-RPC at a URL. */
export const aCard = (url: string): CardDescription => ({
  name: 'other',
  description: 'other',
  version: '1',
  skills: [],
  inputModes: [],
  outputModes: [],
  interfaces: cardInterfaces(url, ['JSONRPC']),
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
  authentication: 'none',
});

/** Responds to each request with the same JSON. */
export const respondWith =
  (body: JsonObject, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

/** Returns the ClientFailure of a promise. Throws if the promise resolves or fails differently. */
export async function failureOf(work: Promise<unknown>): Promise<Pick<ClientFailure, 'kind' | 'message' | 'code'>> {
  const error = await work.then(
    () => new Error('there was no failure'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ClientFailure)) throw error;
  const { kind, message, code } = error;
  return { kind, message, code };
}
