import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { Database } from '../postgres/database.js';
import { differenceFromSnapshot } from './inspect-schema.js';
import { printSchema } from './print-schema.js';
import { readSchemaDefinition, type SchemaDefinition } from './schema-definition.js';

let testDatabase: TestDatabase;
let database: Database;
let definition: SchemaDefinition;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url, { maxConnections: 1 });
  definition = await readSchemaDefinition();
});
afterEach(async () => {
  await database?.close();
  await testDatabase?.drop();
});

describe('migrations/schema.sql', () => {
  it('is the schema of a migrated database (run `npm run schema` after a change)', async () => {
    const { snapshot, number } = definition;
    const headerEnd = snapshot.indexOf('\n\n');
    expect(snapshot.slice(0, headerEnd)).toContain(`-- Schema ${number}`);
    expect(await printSchema(database.pool)).toBe(snapshot.slice(headerEnd + 2));
  });
});

describe('The schema', () => {
  it('has a comment on every table and every column', async () => {
    const undocumented = await testDatabase.asOwner(
      `select c.relname, a.attname from pg_class c
       left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
         and (obj_description(c.oid, 'pg_class') is null or col_description(c.oid, a.attnum) is null)`,
    );
    expect(undocumented).toEqual([]);
  });

  it('has collation C in every text column of an index', async () => {
    const others = await testDatabase.asOwner(
      `select distinct c.relname, a.attname from pg_index i
       join pg_class c on c.oid = i.indrelid
       join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
       where c.relnamespace = 'public'::regnamespace and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation`,
    );
    expect(others).toEqual([]);
  });
});

describe('printSchema', () => {
  it.each([
    ['an added column', 'alter table task add column extra text', 'the table task also has "extra text"'],
    [
      'a column of a different type',
      'alter table message alter bytes type bigint',
      'the table message has "bytes bigint NOT NULL"',
    ],
    [
      'a missing default',
      'alter table push_delivery alter state drop default',
      `instead of "state text NOT NULL DEFAULT 'pending'::text"`,
    ],
    ['a missing index', 'drop index event_feed', 'the table event lacks "CREATE INDEX event_feed'],
    [
      'a missing constraint',
      'alter table api_key drop constraint api_key_role_check',
      'the table api_key lacks "CONSTRAINT api_key_role_check',
    ],
    [
      'a disabled trigger',
      'alter table event disable trigger all',
      'also has "ALTER TABLE event DISABLE TRIGGER event_is_append_only;"',
    ],
    ['a missing table', 'drop table message', 'the table message is missing'],
    ['a missing comment', 'comment on column task.ring is null', 'the table task lacks "COMMENT ON COLUMN task.ring'],
    [
      'a changed function',
      `create or replace function refuse_change() returns trigger language plpgsql as $$ begin return null; end $$`,
      'the function refuse_change ',
    ],
    ['a changed property of a function', 'alter function refuse_change() security definer', 'SECURITY DEFINER'],
  ])('shows %s', async (_, change, difference) => {
    expect(await differenceFromSnapshot(database.pool, definition)).toBeNull();
    await testDatabase.asOwner(change);
    expect(await differenceFromSnapshot(database.pool, definition)).toContain(difference);
  });

  it('does not show the owner, the rights, the schema, and the objects of other programs and extensions', async () => {
    const before = await printSchema(database.pool);
    await testDatabase.asOwner(`do $$ begin
      if exists (select from pg_available_extensions where name = 'pg_trgm') then create extension pg_trgm; end if;
    end $$`);
    await testDatabase.asOwner('grant all on event to public');
    await testDatabase.asOwner('create schema other; create table other.event (id integer)');
    expect(await printSchema(database.pool)).toBe(before);
    await testDatabase.asOwner('alter schema public rename to acta');
    const url = new URL(testDatabase.ownerUrl);
    url.searchParams.set('options', '-c search_path=acta');
    const renamed = new Database(url.href, { maxConnections: 1 });
    expect(await printSchema(renamed.pool)).toBe(before);
    await renamed.close();
  });
});
