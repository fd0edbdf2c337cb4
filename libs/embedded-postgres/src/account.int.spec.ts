import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRoot } from './account.js';
import { openEmbeddedPostgres } from './embedded-postgres.js';
import { installHolder, PostgresHolder } from './test/postgres-holder.js';
import { queryValue } from './test/query-value.js';

const settings = { fsync: 'off' };
const itAsRoot = isRoot() ? it : it.skip;
const skipped = isRoot() ? '' : ' (skipped: needs root)';
const nobody = { uid: 65534, gid: 65534 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acta-accounts-'));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true }));

describe('openEmbeddedPostgres', () => {
  itAsRoot(
    `runs Postgres as a different account, which owns the private data directory, when root calls it${skipped}`,
    async () => {
      const dataDir = join(folder, 'data');
      const postgres = await openEmbeddedPostgres(dataDir, { settings });
      const { uid, mode } = await stat(dataDir);
      expect(uid).not.toBe(0);
      expect(mode & 0o777).toBe(0o700);
      expect((await stat(join(dataDir, 'postgres', 'postmaster.pid'))).uid).toBe(uid);
      await postgres.close();
    },
  );

  itAsRoot(`keeps the owner and mode of a data directory that contains other files${skipped}`, async () => {
    await writeFile(join(folder, 'other'), '');
    await (await openEmbeddedPostgres(folder, { settings })).close();
    await (await openEmbeddedPostgres(folder, { settings })).close();
    const { uid, mode } = await stat(folder);
    expect([uid, mode & 0o777]).toEqual([0, 0o755]);
  });

  itAsRoot(
    `starts Postgres for root below a folder that no other account can enter, with binaries without their links${skipped}`,
    async () => {
      await mkdir(join(folder, 'private'), { mode: 0o700 });
      const checkout = await installHolder(join(folder, 'private', 'checkout'), 'unlinked');
      const dataDir = join(checkout, '.acta');
      const first = await PostgresHolder.start(checkout, dataDir);
      expect(first.result).toMatchObject({ started: true });
      await queryValue(first.result.url!, 'CREATE TABLE note AS SELECT 42 AS value');
      const { home } = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')) as { home: string };
      expect(await readFile(join(home, 'data-directory'), 'utf8')).toBe(`${dataDir}\n`);
      await first.kill();
      const adopted = await openEmbeddedPostgres(dataDir, { settings });
      expect(adopted.started).toBe(false);
      await adopted.close();
      const second = await PostgresHolder.start(checkout, dataDir);
      expect(second.result).toMatchObject({ started: true });
      expect(await queryValue(second.result.url!, 'SELECT value FROM note')).toBe(42);
      await second.close();
      await rm(home, { recursive: true });
    },
  );

  itAsRoot(
    `runs Postgres as the ordinary user who called it first, also when root calls it later${skipped}`,
    async () => {
      const program = await installHolder(join(folder, 'program'), 'unlinked');
      const dataDir = join(folder, 'home', '.acta');
      await mkdir(dirname(dataDir), { mode: 0o700 });
      await chown(dirname(dataDir), nobody.uid, nobody.gid);
      const first = await PostgresHolder.start(program, dataDir, nobody);
      expect(first.result).toMatchObject({ started: true });
      await first.close();
      const startedByRoot = await openEmbeddedPostgres(dataDir, { settings });
      expect((await stat(join(dataDir, 'postgres', 'postmaster.pid'))).uid).toBe(nobody.uid);
      await startedByRoot.close();
      const second = await PostgresHolder.start(program, dataDir, nobody);
      expect(second.result).toMatchObject({ started: true });
      await second.close();
    },
  );

  itAsRoot(`rejects with one sentence when the user cannot use the data directory${skipped}`, async () => {
    const program = await installHolder(join(folder, 'program'), 'shared');
    const unwritable = await PostgresHolder.start(program, join(folder, 'unwritable', '.acta'), nobody);
    expect(unwritable.result.error).toMatch(
      /^The data directory \S+ cannot be used by this user \(.*\): set ACTA_DATA_DIR/,
    );
    await mkdir(join(folder, '.acta'), { mode: 0o700 });
    const foreign = await PostgresHolder.start(program, join(folder, '.acta'), nobody);
    expect(foreign.result.error).toMatch(/cannot be used by this user/);
  });
});
