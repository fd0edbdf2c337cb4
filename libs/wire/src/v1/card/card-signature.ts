import { sign } from 'node:crypto';
import type { Json, JsonObject } from '@app/domain';
import canonicalize from 'canonicalize';
import type { CardSigner } from '../../card-description.js';

/**
 * Returns the `signatures` of a card (A2A v1.0 section 8.4): one JWS for each different payload. A client needs one of them.
 *
 * @param payloads the card without signatures, in the form of each verifier
 */
export function signCard(payloads: readonly string[], { privateKey, keyId, keysUrl }: CardSigner): JsonObject[] {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: keyId, jku: keysUrl }));
  return [...new Set(payloads)].map((payload) => {
    const input = Buffer.from(`${header}.${base64url(payload)}`);
    return { protected: header, signature: sign(null, input, privateKey).toString('base64url') };
  });
}

/** Returns the canonical form of RFC 8785. */
export const canonicalForm = (value: Json): string => canonicalize(value)!;

/** Returns the form that the official SDKs verify: they drop every empty value first, and the spec keeps required members. */
export const canonicalFormOfSdks = (value: Json): string => canonicalForm(withoutEmpty(value) ?? {});

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

function withoutEmpty(value: Json): Json | undefined {
  if (value === '' || value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  const members = Object.entries(value).flatMap(([name, member]) => {
    const kept = withoutEmpty(member);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
