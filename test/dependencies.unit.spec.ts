import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const read = (file: string) => readFile(new URL(`../${file}`, import.meta.url), 'utf8');

describe('ARCHITECTURE.md', () => {
  it('lists exactly the dependencies of package.json, with a reason for each', async () => {
    const packages = JSON.parse(await read('package.json')) as Record<string, Record<string, string>>;
    const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'];
    const present = kinds.flatMap((kind) => Object.keys(packages[kind]!));
    const [, section = ''] = (await read('ARCHITECTURE.md')).split('## Dependencies');
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
    // A row that ends in /* stands for all packages of a scope.
    const scoped = listed.filter((name) => name.endsWith('/*')).map((name) => name.slice(0, -1));
    const named = present.map((name) => scoped.find((scope) => name.startsWith(scope))?.concat('*') ?? name);
    expect(listed.toSorted()).toEqual([...new Set(named)].toSorted());
  });
});
