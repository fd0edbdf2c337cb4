import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runSqlFiles, SCHEMA_FILES } from '../../../../test/support/database/run-sql-files.js';
import { createEmptyDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { Database } from '../postgres/database.js';
import { inspectSchema } from './inspect-schema.js';
import { migrate } from './migrate.js';
import { printSchema } from './print-schema.js';
import { readSchemaDefinition, type SchemaDefinition } from './schema-definition.js';
import { nextVersion } from './test/schema-folder.js';

let testDatabase: TestDatabase;
let owner: Database;
let definition: SchemaDefinition;
beforeEach(async () => {
  testDatabase = await createEmptyDatabase();
  owner = new Database(testDatabase.ownerUrl, { maxConnections: 1 });
  definition = await readSchemaDefinition();
});
afterEach(async () => {
  await owner?.close();
  await testDatabase?.drop();
});

describe('migrate after the files were run by hand', () => {
  it('records them and changes nothing, so that the schema is current', async () => {
    const { role } = testDatabase;
    await runSqlFiles(testDatabase, SCHEMA_FILES);
    await runSqlFiles(testDatabase, ['grants.sql'], { role, schema: 'public' });
    expect((await inspectSchema(owner.pool, definition)).problem).toMatch(
      /without a record of its migrations: run `acta migrate`/,
    );
    const names = definition.migrations.map(({ name }) => name);
    expect(await migrate(owner)).toEqual({ number: definition.number, applied: [], adopted: names, granted: [role] });
    const application = new Database(testDatabase.url, { maxConnections: 1 });
    expect(await inspectSchema(application.pool, definition)).toMatchObject({
      role: { missingRights: [], excessRights: [] },
      state: { kind: 'current' },
      problem: null,
    });
    await application.close();
    expect(await migrate(owner)).toMatchObject({ applied: [], adopted: [] });
  });

  it('records the files of an upgrade', async () => {
    await migrate(owner);
    const folder = await nextVersion();
    for (const { sql } of [...folder.functions, folder.migrations.at(-1)!]) await testDatabase.asOwner(sql);
    const next = { ...folder, snapshot: `\n-- Schema 2\n\n${await printSchema(owner.pool)}` };
    expect(await migrate(owner, { definition: next })).toEqual({
      number: 2,
      applied: [],
      adopted: ['0006-note'],
      granted: [],
    });
  });

  it.each([
    ['a file that was left out', 'drop table push_delivery', 'the table push_delivery is missing'],
    [
      'a column that differs',
      'alter table task alter task_id type text',
      'the table task has "task_id text NOT NULL" instead of "task_id uuid NOT NULL"',
    ],
    [
      'a trigger that was left out',
      'drop trigger event_is_append_only on event',
      'the table event lacks "CREATE TRIGGER event_is_append_only',
    ],
  ])('names %s, and records nothing', async (_, change, difference) => {
    await runSqlFiles(testDatabase, SCHEMA_FILES);
    await testDatabase.asOwner(change);
    await expect(migrate(owner)).rejects.toThrow(
      `The database has tables of Acta without a record of its migrations, and they differ from migrations/schema.sql: ${difference}`,
    );
    expect(await testDatabase.asOwner('select from schema_version')).toEqual([]);
  });

  it('ignores tables of other programs in the schema', async () => {
    await testDatabase.asOwner('create table of_another_program (id integer)');
    expect((await migrate(owner)).applied).toHaveLength(definition.migrations.length);
  });
});
