import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { isRoot } from './account.js';
import { openEmbeddedPostgres } from './embedded-postgres.js';
import { installOpener, Opener } from './test/postgres-holder.js';

const settings = { fsync: 'off' };
const asRoot = isRoot() ? it : it.skip;
const needs = isRoot() ? '' : ' (skipped: only root can try this)';
const nobody = { uid: 65534, gid: 65534 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acta-accounts-'));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true }));

async function query(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ value: unknown }>(sql).finally(() => client.end());
  return rows[0]?.value;
}

describe('the embedded Postgres and the accounts of the system', () => {
  asRoot(`runs as another account when root starts it, which owns the private data directory${needs}`, async () => {
    const dataDir = join(folder, 'data');
    const postgres = await openEmbeddedPostgres(dataDir, { settings });
    const { uid, mode } = await stat(dataDir);
    expect(uid).not.toBe(0);
    expect(mode & 0o777).toBe(0o700);
    expect((await stat(join(dataDir, 'postgres', 'postmaster.pid'))).uid).toBe(uid);
    await postgres.close();
  });

  asRoot(`leaves a folder with other things in it as it is${needs}`, async () => {
    await writeFile(join(folder, 'other'), '');
    await (await openEmbeddedPostgres(folder, { settings })).close();
    await (await openEmbeddedPostgres(folder, { settings })).close();
    const { uid, mode } = await stat(folder);
    expect([uid, mode & 0o777]).toEqual([0, 0o755]);
  });

  asRoot(
    `starts below a folder that no other account may enter, with binaries that npm left half installed${needs}`,
    async () => {
      await mkdir(join(folder, 'private'), { mode: 0o700 });
      const checkout = await installOpener(join(folder, 'private', 'checkout'), 'unlinked');
      const dataDir = join(checkout, '.acta');
      const first = await Opener.start(checkout, dataDir);
      expect(first.answer).toMatchObject({ started: true });
      await query(first.answer.url!, 'CREATE TABLE note AS SELECT 42 AS value');
      const { home } = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')) as { home: string };
      expect(await readFile(join(home, 'data-directory'), 'utf8')).toBe(`${dataDir}\n`);
      await first.kill();
      const adopted = await openEmbeddedPostgres(dataDir, { settings });
      expect(adopted.started).toBe(false);
      await adopted.close();
      const second = await Opener.start(checkout, dataDir);
      expect(second.answer).toMatchObject({ started: true });
      expect(await query(second.answer.url!, 'SELECT value FROM note')).toBe(42);
      await second.close();
      await rm(home, { recursive: true });
    },
  );

  asRoot(`starts for an ordinary user, whose it stays when root starts it later${needs}`, async () => {
    const opener = await installOpener(join(folder, 'opener'), 'unlinked');
    const dataDir = join(folder, 'home', '.acta');
    await mkdir(dirname(dataDir), { mode: 0o700 });
    await chown(dirname(dataDir), nobody.uid, nobody.gid);
    const first = await Opener.start(opener, dataDir, nobody);
    expect(first.answer).toMatchObject({ started: true });
    await first.close();
    const asRootLater = await openEmbeddedPostgres(dataDir, { settings });
    expect((await stat(join(dataDir, 'postgres', 'postmaster.pid'))).uid).toBe(nobody.uid);
    await asRootLater.close();
    const again = await Opener.start(opener, dataDir, nobody);
    expect(again.answer).toMatchObject({ started: true });
    await again.close();
  });

  asRoot(`says in one sentence that a data directory is somebody else's${needs}`, async () => {
    const opener = await installOpener(join(folder, 'opener'), 'shared');
    const { answer } = await Opener.start(opener, join(folder, 'unwritable', '.acta'), nobody);
    expect(answer.error).toMatch(/^The data directory \S+ cannot be used by this user \(.*\): set ACTA_DATA_DIR/);
    await mkdir(join(folder, '.acta'), { mode: 0o700 });
    const other = await Opener.start(opener, join(folder, '.acta'), nobody);
    expect(other.answer.error).toMatch(/cannot be used by this user/);
  });
});
