import { describe, expect, it } from '@jest/globals';
import { cardInterfaces, decodeCard, PROTOCOLS } from './protocols.js';

const CODECS = Object.values(PROTOCOLS).map(({ codec }) => codec);

describe('The registry of A2A versions', () => {
  // F29
  it('has no JSON-RPC method name that two versions share', () => {
    const names = CODECS.flatMap(({ methods }) => [...methods.keys()]);
    expect(new Set(names).size).toBe(names.length);
    expect(PROTOCOLS['0.3'].codec.methods.has('tasks/list')).toBe(false);
  });

  it.each(['constructor', '__proto__', 'toString', ''])('has no JSON-RPC method %j', (name) => {
    expect(CODECS.map(({ methods }) => methods.get(name))).toEqual([undefined, undefined]);
  });

  it.each([
    ['0.3', 'tasks'],
    ['0.3', 'extendedAgentCard'],
    ['1.0', 'card'],
  ] as const)('has no path of a different version in the HTTP+JSON binding of %s: %s', (version, path) => {
    expect(() => PROTOCOLS[version].codec.http.route('GET', path)).toThrow(
      expect.objectContaining({ kind: 'MethodNotFound' }),
    );
  });

  it('lists the interfaces of 1.0 first, at the addresses where the clients of each version expect them', () => {
    const interfaces = cardInterfaces('https://acta.example.com/', ['JSONRPC', 'HTTP+JSON']);
    expect(interfaces.map(({ version, binding, url }) => [version, binding, url])).toEqual([
      ['1.0', 'JSONRPC', 'https://acta.example.com/a2a'],
      ['1.0', 'HTTP+JSON', 'https://acta.example.com/a2a/v1'],
      ['0.3', 'JSONRPC', 'https://acta.example.com/a2a'],
      ['0.3', 'HTTP+JSON', 'https://acta.example.com/a2a/http-json'],
    ]);
  });

  it('decodes a card of either version, and returns undefined for a value that is not a card', () => {
    const skill = { id: 'a', name: 'A', description: '', tags: [] };
    const description = {
      name: 'Recipes',
      description: '',
      version: '1',
      skills: [skill],
      inputModes: [],
      outputModes: [],
      interfaces: cardInterfaces('https://cook.example', ['JSONRPC']),
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
      authentication: 'none' as const,
    };
    const cards = CODECS.map((codec) => decodeCard(codec.encodeCard(description)));
    expect(cards.map((card) => [card?.name, card?.interfaces.map(({ version }) => version)])).toEqual([
      ['Recipes', ['1.0', '0.3']],
      ['Recipes', ['0.3']],
    ]);
    for (const value of [null, 'card', {}]) expect(decodeCard(value)).toBeUndefined();
  });
});
