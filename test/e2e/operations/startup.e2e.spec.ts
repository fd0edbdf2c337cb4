import { execFile } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ActaProcess, createDataDir, type Environment } from '../../support/processes/acta-process.js';
import { eventually, V1Caller } from '../../support/clients/rpc.js';
import { environmentFor, SECRET, startServer, TOKEN } from '../../support/processes/start-server.js';
import { runActa } from '../../support/processes/run-acta.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

let database: TestDatabase;
let dataDir: string;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await createDataDir();
}, 90_000);
afterAll(() => database?.drop());

/** Starts a server that must exit with a non-zero code, and returns its output: one sentence without a stack trace. */
async function startupError(env: Environment): Promise<string> {
  const server = new ActaProcess('server', { PORT: '0', ...environmentFor(database.url, dataDir), ...env });
  const { code } = await server.exited;
  expect(code).not.toBe(0);
  expect(server.output).toMatch(/^acta: .+\n$/);
  expect(server.output).not.toMatch(/^\s+at /m);
  return server.output;
}

describe('The server with an unusable configuration', () => {
  it.each<[string, Environment, RegExp]>([
    ['an invalid value', { ACTA_LEASE_MS: 'soon' }, /ACTA_LEASE_MS is "soon": use a whole number/],
    ['an unknown variable', { ACTA_LEASE: '1000' }, /ACTA_LEASE is not a setting .*ACTA_LEASE_MS/],
    ['a missing agent module', { ACTA_AGENTS: './missing.js' }, /missing\.js/],
    [
      'an unreachable database',
      { DATABASE_URL: 'postgresql://u:pw@127.0.0.1:9/x' },
      /DATABASE_URL does not work .*nothing listens/,
    ],
  ])('exits with one sentence for %s', async (_label, env, sentence) => {
    const error = await startupError(env);
    expect(error).toMatch(sentence);
    expect(error).not.toContain('pw');
  });

  it('exits with one sentence for a schema of a newer version of Acta', async () => {
    const newer = await createTestDatabase();
    await newer.asOwner('update schema_version set number = 9999, oldest_compatible = 9998');
    expect(await startupError({ DATABASE_URL: newer.url })).toMatch(/newer/);
    await newer.drop();
  });

  it('exits with one sentence for a port that is in use', async () => {
    const server = await startServer({ databaseUrl: database.url });
    expect(await startupError({ PORT: new URL(server.url).port })).toMatch(/PORT \d+ on 127\.0\.0\.1 is in use/);
    await server.stop();
  });

  // F40
  it('exits with one sentence for a secret that does not match the database', async () => {
    await (await startServer({ databaseUrl: database.url })).stop();
    expect(await startupError({ ACTA_SECRET_KEY: 'a different secret of the end-to-end tests' })).toMatch(/secret/i);
  });
});

describe('The server', () => {
  it('runs on an embedded database that survives kill -9 of the server, and prints a curl command that works', async () => {
    const env = { ACTA_TOKEN: undefined };
    const folder = await createDataDir();
    const first = await startServer({ databaseUrl: null, dataDir: folder, env });
    const [, tokenFile] = await first.process.waitForOutput(/^The bearer token is in (.+)$/m);
    const token = (await readFile(tokenFile!, 'utf8')).trim();
    expect((await stat(tokenFile!)).mode & 0o777).toBe(0o600);
    const [, command] = await first.process.waitForOutput(/^ +(curl .+)$/m);
    const { stdout } = await promisify(execFile)('sh', ['-c', command!]);
    expect(JSON.parse(stdout)).toMatchObject({ result: { task: { artifacts: [{ parts: [{ text: 'HELLO' }] }] } } });
    const done = await new V1Caller(first.url, token).send('hello');
    const running = await new V1Caller(first.url, token).start('sleep 1s');
    first.process.kill('SIGKILL');
    await first.process.exited;

    const second = await startServer({ databaseUrl: null, dataDir: folder, env: { ...env, ACTA_LEASE_MS: '1000' } });
    const caller = new V1Caller(second.url, token);
    expect(await caller.get(done.id)).toEqual(done);
    // The lease of 30 s is still valid, because the database cannot know that the worker has ended.
    expect((await caller.get(running.id)).status.state).toBe('TASK_STATE_WORKING');
    expect(await second.stop()).toEqual({ code: 0, signal: null });
  }, 120_000);

  it('has no token of its own on a shared database, and prints how to create the first API key', async () => {
    const shared = await createTestDatabase();
    const env = { ACTA_TOKEN: undefined };
    const folder = await createDataDir();
    const first = await startServer({ databaseUrl: shared.url, dataDir: folder, env });
    await first.process.waitForOutput(/^No API key exists yet\. Create one, and send it as the bearer token:$/m);
    const [, command] = await first.process.waitForOutput(/^ {2}acta (keys create .+)$/m);
    expect(await readdir(folder)).toEqual([]);
    const { stdout } = await runActa({ DATABASE_URL: shared.url, ACTA_SECRET_KEY: SECRET }, ...command!.split(' '));
    const [key] = /acta_\S+/.exec(stdout)!;
    const second = await startServer({ databaseUrl: shared.url, dataDir: await createDataDir(), env });
    for (const { url } of [first, second]) {
      expect((await new V1Caller(url, key).send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
    }
    await second.process.waitForOutput(/^ +curl .+Bearer \$ACTA_API_KEY/m);
    await Promise.all([first.stop(), second.stop()]);
    await shared.drop();
  }, 60_000);

  it('loads an agent module that imports nothing from Acta', async () => {
    const module = join(await createDataDir(), 'agent.mjs');
    await writeFile(
      module,
      `export default {
        name: 'counter', description: 'Counts letters', version: '2.0.0',
        skills: [{ id: 'count', name: 'Count', description: 'Counts letters', tags: ['text'] }],
        async run(ctx) { await ctx.artifact({ id: 'count', parts: [{ data: { letters: ctx.text.length } }] }); },
      };`,
    );
    const server = await startServer({ databaseUrl: database.url, env: { ACTA_AGENTS: module } });
    const task = await new V1Caller(server.url, TOKEN).send('four');
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: { letters: 4 } }]);
    await server.stop();
  });

  it('drains on SIGTERM, and a running task is completed by it or by the next server', async () => {
    const first = await startServer({ databaseUrl: database.url });
    const running = await new V1Caller(first.url, TOKEN).start('sleep 1s');
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    const second = await startServer({ databaseUrl: database.url });
    const caller = new V1Caller(second.url, TOKEN);
    await eventually(
      () => caller.get(running.id),
      ({ status }) => status.state === 'TASK_STATE_COMPLETED',
    );
    await second.stop();
  });
});
