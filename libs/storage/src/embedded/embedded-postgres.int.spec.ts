import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, openEmbeddedPostgres } from './embedded-postgres.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acta-embedded-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function query(postgres: EmbeddedPostgres, sql: string): Promise<unknown[]> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  const { rows } = await client.query<{ value: unknown }>(sql);
  await client.end();
  return rows.map((row) => row.value);
}

describe('the embedded Postgres', () => {
  it('keeps its data over a stop and a start', async () => {
    const first = await openEmbeddedPostgres(join(folder, '.acta'));
    expect(first.started).toBe(true);
    await query(first, 'CREATE TABLE note AS SELECT 42 AS value');
    await first.close();
    const second = await openEmbeddedPostgres(join(folder, '.acta'));
    expect(second.started).toBe(true);
    expect(await query(second, 'SELECT value FROM note')).toEqual([42]);
    await second.close();
  });
});
