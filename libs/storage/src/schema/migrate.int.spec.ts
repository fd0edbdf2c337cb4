import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { Replica } from '../../../../test/support/acta.js';
import { aMember } from '../../../../test/support/tasks.js';
import { Database } from '../postgres/database.js';
import { StorageError } from '../storage-error.js';
import { migrate } from './migrate.js';
import { prepareSchema } from './prepare-schema.js';
import { readSchemaDefinition, type SchemaDefinition } from './schema-definition.js';
import { nextVersion, SchemaFolder } from './test/schema-folder.js';

let testDatabase: TestDatabase;
let owner: Database;
let current: SchemaDefinition;
beforeEach(async () => {
  testDatabase = await createEmptyDatabase();
  owner = new Database(testDatabase.ownerUrl, { maxConnections: 2 });
  current = await readSchemaDefinition();
});
afterEach(async () => {
  await owner?.close();
  await testDatabase?.drop();
});

/** Starts a program of a version, as the owner of the schema. */
const start = (definition?: SchemaDefinition) =>
  prepareSchema({ connection: testDatabase.ownerUrl, owner: null }, definition);

/** Starts a program of a version with the application role, which has no rights of the owner. */
const startWithoutRights = (definition?: SchemaDefinition) =>
  prepareSchema({ connection: testDatabase.url, owner: null }, definition);

const errorOf = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StorageError);
  expect((error as Error).message).toMatch(/^[A-Z][^\n]+\.$/);
  return (error as Error).message;
};

/** The identity of each function: a replaced function has a new xmin. */
const functions = () =>
  testDatabase.asOwner(
    `select oid, proname, xmin from pg_proc where pronamespace = 'public'::regnamespace order by oid`,
  );

const numberOf = async () =>
  (await testDatabase.asOwner<{ number: number }>('select number from schema_version'))[0]?.number;

describe('migrate', () => {
  it('applies every file to an empty database once', async () => {
    const applied = current.migrations.map(({ name }) => name);
    expect(await migrate(owner)).toEqual({ number: current.number, applied, adopted: [], granted: [] });
    const before = await functions();
    expect(await migrate(owner)).toEqual({ number: current.number, applied: [], adopted: [], granted: [] });
    expect(await functions()).toEqual(before);
    const recorded = await testDatabase.asOwner<{ name: string }>('select name from schema_migration order by name');
    const files = [...current.migrations, ...current.functions].map(({ name }) => name);
    expect(recorded.map(({ name }) => name)).toEqual(files.toSorted());
  });

  it('changes nothing and names the file if a statement fails', async () => {
    const folder = await SchemaFolder.create();
    await folder.write('0006-broken.sql', 'create table new_table ();\nselect 1 / 0;\n');
    const broken = await folder.toDefinition();
    const error = await errorOf(migrate(owner, { definition: broken }));
    expect(error).toMatch(
      /^The file migrations\/0006-broken\.sql cannot be applied \(division by zero\): .*nothing was changed\.$/,
    );
    expect(await testDatabase.asOwner(`select from pg_tables where schemaname = 'public'`)).toEqual([]);
  });

  it('applies a new version to the present schema, with the functions of both versions', async () => {
    await migrate(owner);
    const next = await nextVersion();
    expect(await migrate(owner, { definition: next })).toMatchObject({ number: 2, applied: ['0006-note'] });
    const signatures = await testDatabase.asOwner<{ arguments: string[] }>(
      `select proargnames::text[] as arguments from pg_proc where proname = 'append_events' order by pronargs`,
    );
    const [previous, present] = signatures.map((row) => row.arguments.filter((name) => name.startsWith('p_')));
    expect(present).toEqual([...previous!, 'p_note']);
  });

  it('grants the rights on new tables to the application roles of earlier runs', async () => {
    const role = testDatabase.role;
    expect(await migrate(owner, { grantTo: role })).toMatchObject({ granted: [role] });
    const folder = await SchemaFolder.create();
    await folder.setVersion(2, 1);
    await folder.write('0006-added.sql', 'create table added (id uuid primary key);\n');
    await folder.write('grants.sql', `${current.grants}\ngrant select on added to :"role";\n`);
    const next = await folder.toDefinition();
    expect(await errorOf(startWithoutRights(next))).toMatch(/pending: 0006-added/);
    expect(await migrate(owner, { definition: next })).toMatchObject({ applied: ['0006-added'], granted: [role] });
    await expect(startWithoutRights(next)).resolves.toBeUndefined();
  });

  it.each([
    ['a migration', '0002-event-log.sql', 'The file migrations/0002-event-log.sql was edited after it was applied'],
    ['a function', 'functions/append_events.sql', 'The file migrations/functions/append_events.sql was edited after'],
  ])('names %s that was edited after it was applied, and so does a start', async (_, file, message) => {
    await migrate(owner, { grantTo: testDatabase.role });
    const edited = await (await SchemaFolder.create()).replace(file, '\n', '\n-- edited\n');
    const definition = await edited.toDefinition();
    const before = await functions();
    for (const attempt of [migrate(owner, { definition }), start(definition), startWithoutRights(definition)]) {
      expect(await errorOf(attempt)).toContain(message);
    }
    expect(await functions()).toEqual(before);
  });

  it('rejects a file that was added without a new schema number', async () => {
    await migrate(owner);
    const added = await (await SchemaFolder.create()).write('0006-added.sql', 'create table added ();\n');
    expect(await errorOf(migrate(owner, { definition: await added.toDefinition() }))).toBe(
      'The file migrations/0006-added.sql is not part of schema 1: raise the number in migrations/version.json.',
    );
  });

  it('rejects a role that does not own the schema, unless the schema is current', async () => {
    const role = testDatabase.role;
    const application = new Database(testDatabase.url, { maxConnections: 1 });
    try {
      expect(await errorOf(migrate(application))).toMatch(
        new RegExp(`^The role ${role} may not change the schema of the database: .*ACTA_OWNER_DATABASE_URL`),
      );
      await migrate(owner, { grantTo: role });
      expect(await migrate(application)).toMatchObject({ applied: [], granted: [] });
      expect(await errorOf(migrate(application, { grantTo: role }))).toMatch(/may not change the schema/);
    } finally {
      await application.close();
    }
  });
});

describe('A start', () => {
  it('never changes the schema of a newer version, also if both versions start in turn ten times', async () => {
    const [older, newer] = [current, await nextVersion()];
    await start(older);
    await start(newer);
    const upgraded = await functions();
    for (let turn = 0; turn < 10; turn += 1) {
      await start(older);
      expect(await numberOf()).toBe(2);
      await start(newer);
      expect(await numberOf()).toBe(2);
      expect(await migrate(owner, { definition: older })).toMatchObject({ number: 2, applied: [], adopted: [] });
    }
    expect(await functions()).toEqual(upgraded);
  });

  it('of the previous version uses the schema of a newer one with its own functions', async () => {
    await migrate(owner, { grantTo: testDatabase.role });
    await migrate(owner, { definition: await nextVersion() });
    await startWithoutRights();
    const replica = await Replica.open(testDatabase.url);
    const { state } = await replica.sendAndWait(aMember('alice'), 'hello');
    await replica.close();
    expect(state.status).toBe('completed');
  });

  it('is rejected with one sentence by a newer schema that the program cannot use', async () => {
    await start(await nextVersion({ oldestCompatible: 2 }));
    const before = await functions();
    expect(await errorOf(start(current))).toBe(
      'The schema of the database has the number 2, which is newer than this version of Acta can use (1): start a newer version of Acta.',
    );
    expect(await functions()).toEqual(before);
  });

  it('without the rights of the owner only compares, and names what to run', async () => {
    const role = testDatabase.role;
    const run = 'run `acta migrate` as the role that owns the schema (ACTA_OWNER_DATABASE_URL).';
    expect(await errorOf(startWithoutRights())).toBe(`The database has no tables of Acta: ${run}`);
    await start();
    expect(await errorOf(startWithoutRights())).toMatch(
      new RegExp(
        `^The role ${role} lacks rights \\(select on schema_version, select on schema_migration, select on event and \\d+ others\\): run \`acta migrate --grant ${role}\``,
      ),
    );
    await migrate(owner, { grantTo: role });
    await startWithoutRights();
    expect(await errorOf(startWithoutRights(await nextVersion()))).toBe(
      `The schema of the database has the number 1, and this version of Acta needs 2 (pending: 0006-note): ${run}`,
    );
    await testDatabase.asOwner('delete from schema_version');
    expect(await errorOf(startWithoutRights())).toBe(
      `The database has tables of Acta without a record of its migrations: ${run}`,
    );
  });

  it('with the URL of the owner migrates, and grants the missing rights to the role of DATABASE_URL', async () => {
    const connections = { connection: testDatabase.url, owner: testDatabase.ownerUrl };
    await prepareSchema(connections);
    await startWithoutRights();
    await testDatabase.asOwner(`revoke insert on event from ${testDatabase.role}`);
    await prepareSchema(connections);
    await startWithoutRights();
    await prepareSchema(connections, await nextVersion());
    expect(await numberOf()).toBe(2);
  });

  it('with a URL of the owner that does not work states the reason', async () => {
    const unreachable = { connection: testDatabase.url, owner: 'postgresql://owner@127.0.0.1:1/acta' };
    expect(await errorOf(prepareSchema(unreachable))).toMatch(
      /^ACTA_OWNER_DATABASE_URL does not work for .+: nothing listens/,
    );
    const other = await createEmptyDatabase();
    expect(await errorOf(prepareSchema({ connection: testDatabase.url, owner: other.ownerUrl }))).toMatch(
      /^The database has no tables of Acta: /,
    );
    await other.drop();
  });
});
