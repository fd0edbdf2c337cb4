import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { expectV03 } from '../../../test/support/clients/schemas.js';
import type { CardDescription } from './card-description.js';
import { encodeCompatibleCard } from './compatible-card.js';
import { cardInterfaces, decodeCard, PROTOCOLS } from './protocols.js';

const description: CardDescription = {
  name: 'Acta',
  description: 'runs agents',
  version: '1.0.0',
  skills: [{ id: 'a', name: 'A', description: 'does A', tags: ['text'] }],
  inputModes: ['text/plain'],
  outputModes: ['text/plain'],
  interfaces: cardInterfaces('https://acta.example.com', ['JSONRPC', 'HTTP+JSON']),
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
  authentication: 'bearer',
  provider: { organization: 'Example', url: 'https://example.com' },
  extensions: [{ uri: 'urn:a', required: true, params: { max: 3 } }],
};

const CARDS: [string, CardDescription][] = [
  ['with authentication', description],
  ['without authentication', { ...description, authentication: 'none' }],
  ['with one binding', { ...description, interfaces: cardInterfaces('https://acta.example.com', ['HTTP+JSON']) }],
];

describe.each(CARDS)('The card of both versions, %s,', (_case, card) => {
  const compatible = encodeCompatibleCard(card);

  it('is a valid card of A2A 0.3', () => {
    expectV03('AgentCard', compatible);
  });

  it('has all members of the card of A2A 0.3, with the same values', () => {
    expect(compatible).toMatchObject(PROTOCOLS['0.3'].codec.encodeCard(card));
  });

  it('has all members of the card of A2A 1.0 except for securityRequirements, which the Go SDK cannot decode', () => {
    const { securityRequirements: _, ...current } = PROTOCOLS['1.0'].codec.encodeCard(card);
    expect(compatible).toMatchObject(JSON.parse(JSON.stringify(current).replace('"Bearer"', '"bearer"')) as JsonObject);
    expect(compatible).not.toHaveProperty('securityRequirements');
  });

  it('has no member that neither card has', () => {
    const names = (['0.3', '1.0'] as const).flatMap((version) =>
      Object.keys(PROTOCOLS[version].codec.encodeCard(card)),
    );
    const expected = new Set(names.filter((name) => name !== 'securityRequirements'));
    expect(Object.keys(compatible).toSorted()).toEqual([...expected].toSorted());
  });

  it('is read as a card of A2A 1.0 by a client that knows both', () => {
    expect(decodeCard(compatible)?.interfaces[0]?.version).toBe('1.0');
  });
});
