import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import canonicalize from 'canonicalize';
import { flattenedVerify } from 'jose';
import type { JsonObject } from '@app/domain';
import type { CardDescription } from '../../card-description.js';
import { encodeCompatibleCard } from '../../compatible-card.js';
import { cardInterfaces } from '../../protocols.js';
import { encodeCard } from './agent-card.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

const description: CardDescription = {
  name: 'Äcta 😀',
  description: '',
  version: '1.0.0',
  skills: [{ id: 'a', name: 'A', description: 'does A', tags: [] }],
  inputModes: ['text/plain'],
  outputModes: ['text/plain'],
  interfaces: cardInterfaces('https://acta.example.com', ['JSONRPC']),
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
  authentication: 'bearer',
  signer: { privateKey, keyId: 'key-1', keysUrl: 'https://acta.example.com/.well-known/jwks.json' },
};

const CARDS: [string, (card: CardDescription) => JsonObject][] = [
  ['of A2A 1.0', encodeCard],
  ['of both versions', encodeCompatibleCard],
];

type Signature = { readonly protected: string; readonly signature: string };

/** Returns whether one of the signatures is valid for this payload. */
async function isSigned(payload: string, signatures: unknown): Promise<boolean> {
  const encoded = Buffer.from(payload).toString('base64url');
  const checks = (signatures as Signature[]).map((signature) =>
    flattenedVerify({ ...signature, payload: encoded }, publicKey),
  );
  return (await Promise.allSettled(checks)).some(({ status }) => status === 'fulfilled');
}

/** Verifies a card as the official client does. */
const verifyWithSdk = (card: JsonObject): Promise<void> =>
  verifyAgentCardSignature(async (keyId, keysUrl) => {
    expect([keyId, keysUrl]).toEqual(['key-1', 'https://acta.example.com/.well-known/jwks.json']);
    return publicKey;
  })(card as unknown as AgentCard);

describe.each(CARDS)('The signatures of a card %s', (_name, encode) => {
  const { signatures, ...unsigned } = encode(description);

  it('are valid for the canonical form of the card without signatures, as the spec requires', async () => {
    expect(await isSigned(canonicalize(unsigned)!, signatures)).toBe(true);
  });

  it('are valid for the official client, which drops empty values before it verifies', async () => {
    await expect(verifyWithSdk(encode(description))).resolves.toBeUndefined();
  });

  it.each<[string, JsonObject]>([
    ['nested lists', { table: [[1, 2], [3]] }],
    ['empty values', { none: null, text: '', list: [], object: {}, nested: [{ text: '' }, [''], 1.5] }],
    ['false and zero', { enabled: false, max: 0 }],
  ])('are valid for the official client if the params of an extension have %s', async (_case, params) => {
    const card = { ...description, extensions: [{ uri: 'urn:a', required: false, params }] };
    await expect(verifyWithSdk(encode(card))).resolves.toBeUndefined();
  });

  it('are valid for the official client if the server requires no credential', async () => {
    await expect(verifyWithSdk(encode({ ...description, authentication: 'none' }))).resolves.toBeUndefined();
  });

  it('are invalid for a different card', async () => {
    const altered = canonicalize({ ...unsigned, name: 'Acta!' } as JsonObject)!;
    expect(await isSigned(altered, signatures)).toBe(false);
  });

  it('are absent from a card without a signer', () => {
    const { signer: _, ...rest } = description;
    expect(encode(rest)).not.toHaveProperty('signatures');
  });
});

describe('The signatures of a card of both versions', () => {
  it('are valid for the official Python client of A2A 0.3, which drops default values and escapes other than ASCII', async () => {
    const { signatures } = encodeCompatibleCard(description);
    // The text that `canonicalize_agent_card` of a2a-sdk 0.3.26 returns for this card.
    const payload =
      '{"additionalInterfaces":[{"transport":"JSONRPC","url":"https://acta.example.com/a2a"}],' +
      '"capabilities":{"pushNotifications":false,"stateTransitionHistory":false,"streaming":true},' +
      '"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"name":"\\u00c4cta \\ud83d\\ude00",' +
      '"securitySchemes":{"bearer":{"scheme":"bearer"}},"skills":[{"description":"does A","id":"a","name":"A"}],' +
      '"supportsAuthenticatedExtendedCard":false,"url":"https://acta.example.com/a2a","version":"1.0.0"}';
    expect(await isSigned(payload, signatures)).toBe(true);
  });
});
