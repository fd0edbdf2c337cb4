import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const namesIn = (text: string): string[] =>
  [...new Set(text.match(/\bACTA_[A-Z_]+[A-Z]\b/g))].filter((name) => !name.startsWith('ACTA_TEST')).sort();

it('describes every variable that is read, and no other', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/environment.md'), 'utf8');
  const source = await readFile(join(import.meta.dirname, 'config.ts'), 'utf8');
  expect(namesIn(page)).toEqual(namesIn(source));
});
