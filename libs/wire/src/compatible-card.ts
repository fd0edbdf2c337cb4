import type { Json, JsonObject } from '@app/domain';
import type { CardDescription } from './card-description.js';
import { encodeCard as encodeLegacyCard } from './v03/agent-card.js';
import { encodeUnsignedCard } from './v1/card/agent-card.js';
import { canonicalForm, canonicalFormOfSdks, signCard } from './v1/card/card-signature.js';

/**
 * Encodes a card for clients that name no version: a valid card of A2A v0.3 that also has the fields of v1.0. The official SDKs
 * ignore the fields of the other version, also when they verify the signatures.
 */
export function encodeCompatibleCard(card: CardDescription): JsonObject {
  const legacy = encodeLegacyCard(card);
  // The Python SDK reads `security` instead, and the Go SDK fails to decode the requirements of v1.0. Some SDKs read the scheme of
  // v0.3 and some that of v1.0, so both are spelled alike, and one signature is valid for all of them.
  const { securityRequirements: _, ...current } = encodeUnsignedCard(card, 'bearer');
  const unsigned = merge(legacy, current);
  if (card.signer === undefined) return unsigned;
  const payloads = [canonicalFormOfSdks(current), canonicalFormOfLegacySdk(legacy), canonicalForm(unsigned)];
  return { ...unsigned, signatures: signCard(payloads, card.signer) };
}

/** Merges two objects at every depth. A member of both that is not an object has the same value in both. */
function merge(left: JsonObject, right: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const other = merged[name];
    merged[name] = isObject(other) && isObject(value) ? merge(other, value) : value;
  }
  return merged;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The values that the types of the Python SDK of v0.3 have by default. */
const DEFAULTS: JsonObject = { protocolVersion: '0.3.0', preferredTransport: 'JSONRPC', type: 'http' };

/** Returns the form that the Python SDK of v0.3 verifies: without default values, and with ASCII characters only. */
function canonicalFormOfLegacySdk(card: JsonObject): string {
  const schemes = Object.entries((card['securitySchemes'] ?? {}) as Record<string, JsonObject>);
  const securitySchemes = Object.fromEntries(schemes.map(([name, scheme]) => [name, withoutDefaults(scheme)]));
  const form = canonicalFormOfSdks({ ...withoutDefaults(card), securitySchemes });
  return form.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const withoutDefaults = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name, value]) => value !== DEFAULTS[name]));
