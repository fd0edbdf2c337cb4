import type { Json } from '@app/domain';
import type { CardBinding, CardInterface } from './card-description.js';
import type { A2aClientCodec, UpstreamCard } from './client/client-codec.js';
import type { A2aCodec } from './codec.js';
import type { ProtocolVersion } from './transport/version.js';
import * as v03 from './v03/index.js';
import * as v1 from './v1/index.js';

/** One version of A2A: `codec` is its server side, `client` its client side. */
interface Protocol {
  readonly codec: A2aCodec;
  readonly client: A2aClientCodec;
}

/**
 * The supported versions of A2A, the preferred version first. To remove a version, delete its folder, its import and entry
 * here, and its entry in `PROTOCOL_VERSIONS`. `compatible-card.ts` combines the cards of both.
 */
export const PROTOCOLS: Readonly<Record<ProtocolVersion, Protocol>> = { '1.0': v1, '0.3': v03 };

/**
 * Decodes the card of an upstream agent, whatever its version. Returns undefined if the value does not have the shape of any
 * version's card. Errors: InvalidParameters.
 */
export function decodeCard(card: Json): UpstreamCard | undefined {
  for (const { client } of Object.values(PROTOCOLS)) {
    const decoded = client.decodeCard(card);
    if (decoded !== undefined) return decoded;
  }
  return undefined;
}

/** Returns the interfaces of a server at `publicUrl`: each binding in the preferred version, then each in the next one. */
export function cardInterfaces(publicUrl: string, bindings: readonly CardBinding[]): CardInterface[] {
  const root = publicUrl.replace(/\/+$/, '');
  return Object.values(PROTOCOLS).flatMap(({ codec: { version, interfacePaths } }) =>
    bindings.map((binding) => ({ url: `${root}${interfacePaths[binding]}`, binding, version })),
  );
}
