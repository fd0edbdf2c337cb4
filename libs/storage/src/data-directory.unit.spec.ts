import { chmod, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataDirectory } from './data-directory.js';

let parent: string;
let path: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'acta-data-'));
  path = join(parent, 'deep', '.acta');
});
afterEach(() => rm(parent, { recursive: true }));

const modeOf = async (name: string) => (await stat(name)).mode & 0o777;

describe('the data directory', () => {
  it('gives every process that starts at once the same token and the same secret', async () => {
    const starters = Array.from({ length: 20 }, () => new DataDirectory(path));
    const tokens = new Set(await Promise.all(starters.map((directory) => directory.token())));
    const secrets = new Set(await Promise.all(starters.map((directory) => directory.secret())));
    expect([tokens.size, secrets.size]).toEqual([1, 1]);
    expect([...tokens, ...secrets].map((value) => value.length)).toEqual([43, 43]);
    expect([...tokens][0]).not.toBe([...secrets][0]);
    expect(await readdir(path)).toEqual(['secret', 'token']);
  });

  it('keeps them from everybody else', async () => {
    const directory = new DataDirectory(path);
    await Promise.all([directory.token(), directory.secret()]);
    expect(await modeOf(path)).toBe(0o700);
    expect(await modeOf(directory.tokenFile)).toBe(0o600);
    expect(await modeOf(directory.secretFile)).toBe(0o600);
  });

  it('makes another token when its file was deleted', async () => {
    const directory = new DataDirectory(path);
    const token = await directory.token();
    await rm(directory.tokenFile);
    expect(await directory.token()).not.toBe(token);
  });

  it('never replaces a secret that it cannot use', async () => {
    const directory = new DataDirectory(path);
    await directory.secret();
    await writeFile(directory.secretFile, '');
    await expect(directory.secret()).rejects.toThrow(/secret does not hold what Acta wrote: restore it/);
  });

  it('says in one sentence when it cannot be used', async () => {
    await writeFile(join(parent, 'file'), '');
    const inFile = new DataDirectory(join(parent, 'file', '.acta'));
    await expect(inFile.token()).rejects.toThrow(/^[^\n]*cannot be used by this user[^\n]*ACTA_DATA_DIR[^\n]*\.$/);
    await symlink(join(parent, 'nowhere'), join(parent, 'link'));
    for (const place of [join(parent, 'link'), join(parent, 'link', '.acta'), '/proc/nope', '/proc/nope/.acta']) {
      if (place.startsWith('/proc') && process.platform !== 'linux') continue;
      await expect(new DataDirectory(place).token()).rejects.toThrow(/^[^\n]*cannot be used by this user[^\n]*\.$/);
    }
    if (process.getuid?.() === 0) return;
    await chmod(parent, 0o500);
    await expect(new DataDirectory(path).token()).rejects.toThrow(/EACCES/);
    await chmod(parent, 0o700);
  });
});
