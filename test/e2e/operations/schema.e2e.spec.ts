import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runSqlFiles, SCHEMA_FILES } from '../../support/database/run-sql-files.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import { ActaProcess, createDataDir, type Environment } from '../../support/processes/acta-process.js';
import { runActa } from '../../support/processes/run-acta.js';
import { environmentFor } from '../../support/processes/start-server.js';

const TIMEOUT_MS = 120_000;

let database: TestDatabase;
/** The environment of a server, with the application role. */
let environment: Environment;
/** The environment of the database administrator, who does not know the secret. */
let owner: Environment;

async function use(created: TestDatabase): Promise<void> {
  database = created;
  environment = environmentFor(created.url, await createDataDir());
  owner = { ACTA_OWNER_DATABASE_URL: created.ownerUrl };
}
afterEach(() => database?.drop());

/** Returns the findings of `acta doctor`: check → finding. */
async function doctor(): Promise<Record<string, string>> {
  const { stdout } = await runActa(environment, 'doctor', '--json');
  const findings = JSON.parse(stdout) as { check: string; ok: boolean; detail: string }[];
  return Object.fromEntries(findings.map(({ check, ok, detail }) => [check, `${ok ? 'ok' : 'FAILED'}: ${detail}`]));
}

async function startupError(): Promise<string> {
  const server = new ActaProcess('server', { PORT: '0', ...environment });
  expect((await server.exited).code).toBe(1);
  return server.output;
}

describe('The schema of an empty database', () => {
  beforeEach(async () => use(await createEmptyDatabase()));

  it(
    'is created by `acta migrate`, and usable after `acta migrate --grant`',
    async () => {
      const run = 'run `acta migrate` as the role that owns the schema (ACTA_OWNER_DATABASE_URL)';
      expect(await startupError()).toBe(`acta: The database has no tables of Acta: ${run}.\n`);
      expect(await runActa(environment, 'migrate')).toMatchObject({
        code: 1,
        stderr: `acta: The role ${database.role} may not change the schema of the database: run \`acta migrate\` as the role that owns it (ACTA_OWNER_DATABASE_URL).\n`,
      });
      const applied = await runActa(owner, 'migrate');
      expect(applied.stdout).toMatch(/^(?:Applied \d{4}-[\w-]+\.\n)+The schema has the number \d+\.\n$/);
      expect(await startupError()).toMatch(
        /^acta: The role \S+ lacks rights \(.+\): run `acta migrate --grant \S+`[^\n]+\n$/,
      );
      expect(await runActa(owner, 'migrate', '--grant', database.role)).toEqual({
        code: 0,
        stdout: `The schema is up to date.\nThe role ${database.role} has the rights of servers and workers.\n`,
        stderr: '',
      });
      expect(await doctor()).toMatchObject({
        'database role': `ok: ${database.role}, which owns nothing and cannot change events`,
        schema: 'ok: up to date',
        tables: 'ok: as in migrations/schema.sql',
        'write access': 'ok: rows can be written',
      });
    },
    TIMEOUT_MS,
  );

  it(
    'is current after the files were run with psql and `acta migrate` has recorded them',
    async () => {
      await runSqlFiles(database, SCHEMA_FILES);
      await runSqlFiles(database, ['grants.sql'], { role: database.role, schema: 'public' });
      expect((await doctor())['schema']).toMatch(/^FAILED: .+ without a record of its migrations: run `acta migrate`/);
      const { stdout } = await runActa(owner, 'migrate');
      expect(stdout).toMatch(
        /^(?:Recorded \d{4}-[\w-]+, which was applied with psql\.\n)+The schema has the number \d+\.\n$/,
      );
      const findings = await doctor();
      expect(Object.values(findings).filter((finding) => !finding.startsWith('ok: '))).toEqual([]);
      expect(findings['schema']).toBe('ok: up to date');
    },
    TIMEOUT_MS,
  );
});

describe('The schema of a migrated database', () => {
  beforeEach(async () => use(await createTestDatabase()));

  it(
    'is not used with a file that was edited after it was applied: `acta migrate`, `acta doctor` and a start name the file',
    async () => {
      // The same as an edit of the file, because the programs only compare.
      await database.asOwner(`update schema_migration set checksum = sha256('edited') where name = '0003-read-models'`);
      const message = 'file migrations/0003-read-models.sql was edited after it was applied to the database: restore';
      expect((await runActa(owner, 'migrate')).stderr).toContain(`acta: The ${message}`);
      expect((await doctor())['schema']).toContain(`FAILED: the ${message}`);
      expect(await startupError()).toContain(`acta: The ${message}`);
    },
    TIMEOUT_MS,
  );

  it(
    'cannot be verified by a role without rights, which the error names in one sentence',
    async () => {
      await database.asOwner(`revoke select on event from ${database.role}`);
      expect(await runActa(environment, 'audit', 'verify')).toEqual({
        code: 1,
        stdout: '',
        stderr: `acta: The role ${database.role} lacks rights (select on event): run \`acta migrate --grant ${database.role}\` as the role that owns the schema (ACTA_OWNER_DATABASE_URL).\n`,
      });
    },
    TIMEOUT_MS,
  );

  it(
    'is reported by `acta doctor` if a trigger is disabled, or if the rights of the role are wrong',
    async () => {
      await database.asOwner('alter table event disable trigger event_is_append_only');
      await database.asOwner(`grant update on event to ${database.role}`);
      expect(await doctor()).toMatchObject({
        'database role': expect.stringMatching(
          /^FAILED: .+ has more rights than it needs: update on event: run `acta migrate --grant/,
        ),
        tables: expect.stringMatching(/^FAILED: differ from .+ also has "ALTER TABLE event DISABLE TRIGGER/),
      });
      environment = environmentFor(database.ownerUrl, await createDataDir());
      expect((await doctor())['database role']).toMatch(
        /^ok: .+, which can change events; `acta migrate --grant ROLE`/,
      );
    },
    TIMEOUT_MS,
  );
});
