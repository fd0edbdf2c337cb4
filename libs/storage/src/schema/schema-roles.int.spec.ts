import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { Database } from '../postgres/database.js';
import { SQL_STATE } from '../postgres/sql-state.js';
import { migrate } from './migrate.js';
import { prepareSchema } from './prepare-schema.js';
import { readSchemaDefinition } from './schema-definition.js';
import { readSchemaRole } from './schema-roles.js';

let testDatabase: TestDatabase;
let application: Database;
let role: string;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  application = new Database(testDatabase.url, { maxConnections: 1 });
  ({ role } = testDatabase);
});
afterEach(async () => {
  await application?.close();
  await testDatabase?.drop();
});

const inspect = async (database = application) => readSchemaRole(database.pool, await readSchemaDefinition());

async function grant(): Promise<void> {
  const owner = new Database(testDatabase.ownerUrl, { maxConnections: 1 });
  await migrate(owner, { grantTo: role }).finally(() => owner.close());
}

describe('The application role', () => {
  it.each([
    `update event set facts = '{}'`,
    'update event set content = null where false',
    'delete from event',
    'truncate event',
    'truncate event, task',
    'alter table event disable trigger all',
    'alter table event disable trigger event_is_append_only',
    'alter table event add column extra text',
    'drop trigger event_is_append_only on event',
    'drop table event',
    'drop function append_events',
    `create or replace function refuse_change() returns trigger language plpgsql as 'begin return null; end'`,
    'alter function append_events security definer',
    `update audit_entry set facts = '{}'`,
    'delete from audit_entry',
    'truncate audit_entry',
    'alter table audit_entry disable trigger all',
    'delete from task_key',
    'update schema_version set number = 0',
    'delete from schema_migration',
    'create table extra ()',
    'create function append_events() returns void language sql as $$ $$',
    `set session_replication_role = replica`,
  ])('is refused by Postgres: %s', async (statement) => {
    await expect(application.pool.query(statement)).rejects.toMatchObject({ code: SQL_STATE.insufficientPrivilege });
  });

  it('has exactly the rights that the program needs', async () => {
    expect(await inspect()).toMatchObject({
      name: role,
      schema: 'public',
      isOwner: false,
      isSuperuser: false,
      canCreate: false,
      missingRights: [],
      excessRights: [],
      canEveryoneCreate: false,
    });
  });

  it('gets exactly these rights again from `acta migrate --grant`', async () => {
    await testDatabase.asOwner(`revoke insert on event from ${role}`);
    await testDatabase.asOwner(`grant update, truncate on event to ${role}`);
    await testDatabase.asOwner(`grant delete on audit_entry to public`);
    await testDatabase.asOwner(`revoke execute on function settle_push from ${role}`);
    const { missingRights, excessRights } = await inspect();
    expect(missingRights).toEqual(['insert on event', 'execute on settle_push']);
    expect(excessRights.toSorted()).toEqual(['delete on audit_entry', 'truncate on event', 'update on event']);
    await grant();
    expect(await inspect()).toMatchObject({ missingRights: [], excessRights: [] });
  });

  it('has every table in grants.sql', async () => {
    const { grants } = await readSchemaDefinition();
    const tables = await testDatabase.asOwner<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    );
    const revoked = /revoke all on ([\w,\s]+) from/
      .exec(grants)![1]!
      .split(',')
      .map((name) => name.trim());
    expect(revoked.toSorted()).toEqual(tables.map(({ name }) => name));
  });

  it('cannot be the role that owns the schema, a member of it, or a missing role', async () => {
    const owner = new Database(testDatabase.ownerUrl, { maxConnections: 1 });
    const [{ name }] = (await owner.pool.query<{ name: string }>('select current_user as name')).rows as [
      { name: string },
    ];
    await expect(migrate(owner, { grantTo: name })).rejects.toThrow(
      `The role ${name} is the owner of the schema (${name}), a member of it, or a superuser: create a role that owns nothing.`,
    );
    await expect(migrate(owner, { grantTo: 'no "such" role' })).rejects.toThrow(
      /^The role no "such" role does not exist: create it/,
    );
    await owner.close();
  });
});

describe('Each connection', () => {
  it('uses the schema of the tables only, so that no other object is used instead', async () => {
    // The default search_path of a role begins with the schema of its own name.
    await testDatabase.asOwner(
      `create schema ${role} authorization ${role} create table event () create table task ()`,
    );
    const unpinned = new pg.Client(testDatabase.url);
    await unpinned.connect();
    await expect(unpinned.query('select version from event')).rejects.toThrow('column "version" does not exist');
    await unpinned.end();
    const pinned = new Database(testDatabase.url, { maxConnections: 2 });
    const read = async (seconds: number) =>
      pinned.pool.query<{ path: string; schema: string }>(
        `select current_setting('search_path') as path, relnamespace::regnamespace::text as schema
         from pg_class, pg_sleep($1) where oid = 'event'::regclass`,
        [seconds],
      );
    // The second connection gets the path that the first one has found.
    await read(0);
    const found = await Promise.all([read(0.1), read(0.1)]);
    await pinned.close();
    for (const { rows } of found) expect(rows).toEqual([{ path: 'public, pg_temp', schema: 'public' }]);
  });

  it('uses a schema of its own if the search_path of its role names it', async () => {
    await testDatabase.asOwner('drop table event, schema_version, schema_migration');
    await testDatabase.asOwner('create schema "Acta"');
    const inSchema = (url: string) => {
      const changed = new URL(url);
      changed.searchParams.set('options', '-c search_path="Acta"');
      return changed.href;
    };
    const urls = { connection: inSchema(testDatabase.url), owner: inSchema(testDatabase.ownerUrl) };
    await prepareSchema(urls);
    const own = new Database(urls.connection, { maxConnections: 1 });
    expect(await inspect(own)).toMatchObject({ schema: 'Acta', missingRights: [], excessRights: [] });
    await own.close();
    await expect(prepareSchema({ connection: testDatabase.url, owner: null })).rejects.toThrow(
      `The schema "Acta", which has tables of Acta, is not in the search_path of the role ${role}: run \`alter role ${role} set search_path = "Acta"\`.`,
    );
    await testDatabase.asOwner(`revoke usage on schema "Acta" from ${role}`);
    await expect(prepareSchema({ connection: urls.connection, owner: null })).rejects.toThrow(
      `The role ${role} may not use the schema "Acta", which has tables of Acta: run \`acta migrate --grant ${role}\``,
    );
  });
});
