import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { KNOWN_VARIABLES } from './known-variables.js';

const namesIn = (text: string): string[] =>
  [...new Set(text.match(/\bACTA_[A-Z_]+[A-Z]\b/g))].filter((name) => !name.startsWith('ACTA_TEST')).sort();

const readNames = async (path: string) => namesIn(await readFile(join(import.meta.dirname, path), 'utf8'));

describe('docs/environment.md', () => {
  it('describes every variable that the configuration accepts, and no other', async () => {
    expect(await readNames('../../../docs/environment.md')).toEqual([...KNOWN_VARIABLES].sort());
  });
});

describe('the accepted variables', () => {
  it('are those that the configuration reads', async () => {
    const sources = ['read-config.ts', 'security-settings.ts', 'server-settings.ts'];
    const names = new Set((await Promise.all(sources.map(readNames))).flat());
    expect([...names].sort()).toEqual([...KNOWN_VARIABLES].sort());
  });
});
