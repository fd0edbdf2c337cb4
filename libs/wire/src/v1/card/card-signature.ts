import { sign } from 'node:crypto';
import type { Json, JsonObject } from '@app/domain';
import canonicalize from 'canonicalize';
import type { CardSigner } from '../../card-description.js';

/**
 * Returns the `signatures` of an encoded card (A2A v1.0 section 8.4): JWS over the canonical form (RFC 8785) of the card without
 * them. There can be two, and a client needs one of them: the spec keeps required members that are empty, but the official SDKs
 * drop every empty value before they verify.
 */
export function signCard(card: JsonObject, { privateKey, keyId, keysUrl }: CardSigner): JsonObject[] {
  const header = { alg: 'EdDSA', typ: 'JOSE', kid: keyId, jku: keysUrl };
  const forms = new Set([canonical(withoutEmpty(card) ?? {}), canonical(card)]);
  return [...forms].map((payload) => {
    const protectedHeader = base64url(JSON.stringify(header));
    const input = `${protectedHeader}.${base64url(payload)}`;
    return { protected: protectedHeader, signature: sign(null, Buffer.from(input), privateKey).toString('base64url') };
  });
}

const canonical = (value: Json): string => canonicalize(value)!;

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

function withoutEmpty(value: Json): Json | undefined {
  if (value === '' || value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => withoutEmpty(item) ?? []);
    return items.length === 0 ? undefined : items;
  }
  const members = Object.entries(value).flatMap(([name, member]) => {
    const kept = withoutEmpty(member);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
