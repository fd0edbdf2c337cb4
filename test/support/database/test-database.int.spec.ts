import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from './test-database.js';

describe('createTestDatabase', () => {
  it('creates a separate, migrated database for each call', async () => {
    const databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
    for (const { ownerUrl } of databases) {
      const client = new pg.Client(ownerUrl);
      await client.connect();
      await client.query('CREATE TABLE mine ()');
      const { rowCount } = await client.query(`SELECT FROM pg_class WHERE oid = to_regclass('event')`);
      await client.end();
      expect(rowCount).toBe(1);
    }
    await Promise.all(databases.map((database) => database.drop()));
  });
});
