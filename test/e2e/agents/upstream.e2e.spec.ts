import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { ActaProcess, createDataDir } from '../../support/processes/acta-process.js';
import { eventually, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase } from '../../support/database/test-database.js';
import { Upstream } from '../../support/processes/upstream.js';

const isCompleted = ({ status }: WireTask) => status.state === 'TASK_STATE_COMPLETED';
const hasArtifact = ({ artifacts = [] }: WireTask) => artifacts.length > 0;

it.each(['1.0', '0.3'] as const)(
  'goes on with the same task of an agent of A2A %s after kill -9 of the worker',
  async (VERSION) => {
    const upstream = await Upstream.start({ VERSION });
    const env = { ACTA_AGENTS: upstream.url, ACTA_UPSTREAM_ALLOW_PRIVATE: 'true', ACTA_LEASE_MS: '1500' };
    const server = await startServer({ env: { ...env, ACTA_WORKER_CONCURRENCY: '0' } });
    const database = new DatabaseView(server.databaseUrl!);
    const caller = new V1Caller(server.url, TOKEN);
    const first = await startWorker(server.databaseUrl!, env);
    const { id } = await caller.start('chunks 20 every 200');
    await eventually(() => caller.get(id), hasArtifact);
    first.kill('SIGKILL');
    await first.exited;

    const second = await startWorker(server.databaseUrl!, env);
    const done = await eventually(() => caller.get(id), isCompleted);
    const all = Array.from({ length: 20 }, (_, at) => `${at} `).join('');
    expect(
      done.artifacts?.map(({ artifactId, parts }) => [artifactId, parts.map(({ text }) => text).join('')]),
    ).toEqual([['text', all]]);
    expect(await database.eventTypes(id)).toEqual(expect.arrayContaining(['RunLost', 'RunRetried', 'TaskCompleted']));
    const { tasks, calls } = await upstream.state();
    expect([tasks.length, calls.length]).toEqual([1, 1]);
    expect((await second.stop()).code).toBe(0);
    await database.close();
    await server.stop();
    await upstream.kill();
  },
  120_000,
);

it('has the card of the upstream agent, and its name as an address', async () => {
  const upstream = await Upstream.start();
  const env = { ACTA_AGENTS: `demo,${upstream.url}`, ACTA_UPSTREAM_ALLOW_PRIVATE: 'true' };
  const server = await startServer({ env });
  const address = `${server.url}/agents/Upstream-agent/.well-known/agent-card.json`;
  const card = (await (await fetch(address, { headers: { 'A2A-Version': '1.0' } })).json()) as object;
  expect(card).toMatchObject({
    name: 'Upstream-agent',
    description: 'Counts',
    version: '3.2.1',
    skills: [{ id: 'count' }],
    defaultInputModes: ['text/plain', 'application/json'],
  });
  await server.stop();
  await upstream.kill();
}, 60_000);

it('is another Acta, by a module that has its token, which is killed and restarted in the middle', async () => {
  const shared = await createTestDatabase();
  const far = await startServer({ databaseUrl: shared.url, env: { ACTA_LEASE_MS: '1500' } });
  const dataDir = await createDataDir();
  const module = join(dataDir, 'gate.mjs');
  await writeFile(
    module,
    `export default { name: 'gate', upstream: { url: process.env.FAR_URL, token: process.env.FAR_TOKEN } };`,
  );
  const near = await startServer({
    env: { ACTA_AGENTS: module, ACTA_UPSTREAM_ALLOW_PRIVATE: 'true', FAR_URL: far.url, FAR_TOKEN: TOKEN },
  });
  const caller = new V1Caller(near.url, TOKEN);
  const database = new DatabaseView(near.databaseUrl!);
  const { id } = await caller.start('sleep 2s chunks 3');
  await eventually(
    () => database.eventTypes(id),
    (types) => types.filter((type) => type === 'StatusReported').length > 1,
  );
  far.process.kill('SIGKILL');
  await far.process.exited;
  const env = { PORT: new URL(far.url).port, ACTA_LEASE_MS: '1500' };
  const again = await startServer({ databaseUrl: shared.url, env });
  const done = await eventually(() => caller.get(id), isCompleted);
  expect(done.artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'SLEEP 2S CHUNKS 3' }]]);
  expect(await new V1Caller(again.url, TOKEN).list()).toMatchObject({ totalSize: 1 });
  await database.close();
  await near.stop();
  await again.stop();
  await shared.drop();
}, 120_000);

it('stops the start with one sentence when the upstream agent is not there, or may not be', async () => {
  const starts = async (env: Record<string, string>) => {
    const server = new ActaProcess('server', { PORT: '0', ACTA_DATA_DIR: await createDataDir(), ...env });
    expect((await server.exited).code).toBe(1);
    return server.output.trim();
  };
  const url = 'http://127.0.0.1:1/';
  expect(await starts({ ACTA_AGENTS: url, ACTA_UPSTREAM_ALLOW_PRIVATE: 'true' })).toBe(
    `acta: ACTA_AGENTS: the agent at ${url} cannot be used: the connection failed (ECONNREFUSED)`,
  );
  expect(await starts({ ACTA_AGENTS: 'https://127.0.0.1/' })).toBe(
    'acta: ACTA_AGENTS: the agent at https://127.0.0.1/ cannot be used: the URL is a loopback address (127.0.0.1), which is not allowed (ACTA_UPSTREAM_ALLOW_PRIVATE=true allows it)',
  );
}, 60_000);
