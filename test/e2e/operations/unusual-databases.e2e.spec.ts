import { describe, expect, it } from '@jest/globals';
import { call, http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { EXTENDED } from '../../support/extended.js';
import { createEmptyDatabase, createTestDatabase } from '../../support/database/test-database.js';
import { ActaProcess, createDataDir } from '../../support/processes/acta-process.js';
import { runActa } from '../../support/processes/run-acta.js';
import { environmentFor, SECRET, startServer, TOKEN } from '../../support/processes/start-server.js';

const SETTINGS = [
  ['DateStyle', 'German'],
  ['DateStyle', 'SQL, DMY'],
  ['DateStyle', 'Postgres, YMD'],
  ['DateStyle', 'ISO, DMY'],
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_isolation', 'repeatable read'],
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_read_only', 'on'],
  ['TimeZone', 'Asia/Kathmandu'],
  ['bytea_output', 'escape'],
  ['IntervalStyle', 'iso_8601'],
  ['statement_timeout', '200ms'],
  ['standard_conforming_strings', 'off'],
  ['synchronous_commit', 'off'],
  ['client_encoding', 'LATIN1'],
  ['quote_all_identifiers', 'true'],
] as const;
const SMOKE = new Set<string>(['German', 'serializable', 'on', 'LATIN1']);

/** Each setting starts a server, so `npm test` tries one of each kind. */
const tried = EXTENDED ? SETTINGS : SETTINGS.filter(([, value]) => SMOKE.has(value));

describe('A database with the default', () => {
  it.each(tried)(
    '%s = %s changes no response, and fails no task',
    async (name, value) => {
      const database = await createTestDatabase();
      await database.asOwner(`alter database ${database.name} set ${name} = '${value}'`);
      const server = await startServer({ databaseUrl: database.url });
      const caller = new V1Caller(server.url, TOKEN);
      const contextId = '日本';
      const tasks = await Promise.all(
        Array.from({ length: 20 }, (_, nth) => caller.send(`データ ${nth}`, { message: { contextId } })),
      );
      expect(new Set(tasks.map(({ status }) => status.state))).toEqual(new Set(['TASK_STATE_COMPLETED']));
      const [task] = tasks;
      expect(await caller.get(task!.id)).toEqual(task);
      expect((await caller.list({ contextId })).totalSize).toBe(20);
      expect((await http('GET', `${server.url}/api/tasks/${task!.id}/events`, TOKEN)).text).toContain(
        `"recordedAt":"${task!.status.timestamp.slice(0, 10)}`,
      );
      const verified = await runActa({ DATABASE_URL: database.url, ACTA_SECRET_KEY: SECRET }, 'audit', 'verify');
      expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('every chain is valid') });
      expect((await call(server.url, TOKEN, '1.0', 'SendMessage', sendParams('fail'))).body.error).toBeUndefined();
      await server.stop();
      await database.drop();
    },
    60_000,
  );
});

describe('A database that Acta cannot use', () => {
  it.each(['LATIN1', 'SQL_ASCII'])('with the encoding %s prevents the start with one sentence', async (encoding) => {
    const empty = await createEmptyDatabase();
    const name = `${empty.name}_encoded`;
    await empty.asOwner(`create database ${name} template template0 encoding '${encoding}' locale 'C'`);
    const url = new URL(empty.ownerUrl);
    url.pathname = `/${name}`;
    const server = new ActaProcess('server', { PORT: '0', ...environmentFor(url.href, await createDataDir()) });
    const { code } = await server.exited;
    expect([code, server.output]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(`^acta: DATABASE_URL names a database with the encoding ${encoding} .+--encoding=UTF8\\.\n$`),
      ),
    ]);
    await empty.asOwner(`drop database ${name} with (force)`);
    await empty.drop();
  });
});
