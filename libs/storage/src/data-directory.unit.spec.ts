import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
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

describe('DataDirectory', () => {
  it('returns the same token and the same secret to 20 concurrent processes', async () => {
    const processes = Array.from({ length: 20 }, () => new DataDirectory(path));
    const tokens = new Set(await Promise.all(processes.map((directory) => directory.token())));
    const secrets = new Set(await Promise.all(processes.map((directory) => directory.secret())));
    expect([tokens.size, secrets.size]).toEqual([1, 1]);
    expect([...tokens, ...secrets].map((value) => value.length)).toEqual([43, 43]);
    expect([...tokens][0]).not.toBe([...secrets][0]);
    expect(await readdir(path)).toEqual(['secret', 'token']);
  });

  it('creates its folder and its files without access for other users', async () => {
    const directory = new DataDirectory(path);
    await Promise.all([directory.token(), directory.secret()]);
    expect(await modeOf(path)).toBe(0o700);
    expect(await modeOf(directory.tokenFile)).toBe(0o600);
    expect(await modeOf(directory.secretFile)).toBe(0o600);
  });

  it('generates a new token after the token file was deleted', async () => {
    const directory = new DataDirectory(path);
    const token = await directory.token();
    await rm(directory.tokenFile);
    expect(await directory.token()).not.toBe(token);
  });

  it('rejects a corrupt secret and does not replace it', async () => {
    const directory = new DataDirectory(path);
    await directory.secret();
    await writeFile(directory.secretFile, '');
    await expect(directory.secret()).rejects.toThrow(/secret is corrupt: restore it/);
    expect(await readFile(directory.secretFile, 'utf8')).toBe('');
  });

  it('reports in one sentence that the user cannot use it', async () => {
    await writeFile(join(parent, 'file'), '');
    const inFile = new DataDirectory(join(parent, 'file', '.acta'));
    await expect(inFile.token()).rejects.toThrow(/^[^\n]*cannot be used by this user[^\n]*ACTA_DATA_DIR[^\n]*\.$/);
    await symlink(join(parent, 'missing'), join(parent, 'link'));
    for (const folder of [join(parent, 'link'), join(parent, 'link', '.acta'), '/proc/nope', '/proc/nope/.acta']) {
      if (folder.startsWith('/proc') && process.platform !== 'linux') continue;
      await expect(new DataDirectory(folder).token()).rejects.toThrow(/^[^\n]*cannot be used by this user[^\n]*\.$/);
    }
    if (process.getuid?.() === 0) return;
    await chmod(parent, 0o500);
    await expect(new DataDirectory(path).token()).rejects.toThrow(/EACCES/);
    await chmod(parent, 0o700);
  });
});
