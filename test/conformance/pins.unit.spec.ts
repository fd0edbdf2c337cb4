import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
const readJson = <T>(path: string) => JSON.parse(read(path).toString()) as T;

interface Contract {
  readonly specification: readonly { version: string; release: string; schema: string; sha256: string }[];
  readonly sdk: { readonly package: string; readonly version: string; readonly integrity: string };
  readonly tck: { readonly commit: string };
}

const contract = readJson<Contract>('contracts/a2a-contract.json');

describe('The pinned contract', () => {
  it('names the SDK version that the lockfile installs', () => {
    const { sdk } = contract;
    const { packages } = readJson<{ packages: Record<string, object> }>('package-lock.json');
    const { version, integrity } = sdk;
    expect(packages[`node_modules/${sdk.package}`]).toMatchObject({ version, integrity });
    const { devDependencies } = readJson<{ devDependencies: Record<string, string> }>('package.json');
    expect(devDependencies[sdk.package]).toBe(version);
  });

  it.each(contract.specification)('has the unchanged schema of release $release', ({ schema, sha256 }) => {
    expect(
      createHash('sha256')
        .update(read(`contracts/${schema}`))
        .digest('hex'),
    ).toBe(sha256);
  });

  it('names the releases of the specification and a commit of the TCK', () => {
    expect(contract.specification.map(({ version, release }) => [version, release])).toEqual([
      ['1.0', 'v1.0.1'],
      ['0.3', 'v0.3.0'],
    ]);
    expect(contract.tck.commit).toMatch(/^[0-9a-f]{40}$/);
  });
});
