import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import canonicalize from 'canonicalize';
import { flattenedVerify } from 'jose';
import type { JsonObject } from '@app/domain';
import type { CardDescription } from '../../card-description.js';
import { cardInterfaces } from '../../protocols.js';
import { encodeCard } from './agent-card.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

const description: CardDescription = {
  name: 'Acta',
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

type Signature = { readonly protected: string; readonly signature: string };

/** Returns whether one of the signatures is valid for this payload. */
async function isSigned(payload: string, signatures: readonly Signature[]): Promise<boolean> {
  const encoded = Buffer.from(payload).toString('base64url');
  const checks = signatures.map((signature) => flattenedVerify({ ...signature, payload: encoded }, publicKey));
  return (await Promise.allSettled(checks)).some(({ status }) => status === 'fulfilled');
}

describe('The signatures of a card', () => {
  const { signatures, ...unsigned } = encodeCard(description);

  it('are valid for the canonical form of the card without signatures, as the spec requires', async () => {
    expect(await isSigned(canonicalize(unsigned)!, signatures as unknown as Signature[])).toBe(true);
  });

  it('are valid for the official client, which drops empty values before it verifies', async () => {
    const verify = verifyAgentCardSignature(async (keyId, keysUrl) => {
      expect([keyId, keysUrl]).toEqual(['key-1', 'https://acta.example.com/.well-known/jwks.json']);
      return publicKey;
    });
    await expect(verify(encodeCard(description) as unknown as AgentCard)).resolves.toBeUndefined();
  });

  it('are invalid for a different card', async () => {
    const altered = canonicalize({ ...unsigned, name: 'Acta!' } as JsonObject)!;
    expect(await isSigned(altered, signatures as unknown as Signature[])).toBe(false);
  });

  it('are absent from a card without a signer', () => {
    const { signer: _, ...rest } = description;
    expect(encodeCard(rest)).not.toHaveProperty('signatures');
  });
});
