import { describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { ActaProcess, createDataDir } from '../../support/processes/acta-process.js';
import { writeAgentModule } from '../../support/processes/agent-module.js';
import { eventually, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase } from '../../support/database/test-database.js';
import { Upstream } from '../../support/processes/upstream.js';

const hasArtifact = ({ artifacts = [] }: WireTask) => artifacts.length > 0;

describe('An upstream agent', () => {
  it.each(['1.0', '0.3'] as const)(
    'of A2A %s continues the same task after kill -9 of the worker',
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
      const completed = await caller.untilState(id, 'TASK_STATE_COMPLETED');
      const text = Array.from({ length: 20 }, (_, index) => `${index} `).join('');
      expect(
        completed.artifacts?.map(({ artifactId, parts }) => [artifactId, parts.map((part) => part.text).join('')]),
      ).toEqual([['text', text]]);
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

  it('has its own card at /agents/{name}', async () => {
    const upstream = await Upstream.start();
    const env = { ACTA_AGENTS: `demo,${upstream.url}`, ACTA_UPSTREAM_ALLOW_PRIVATE: 'true' };
    const server = await startServer({ env });
    const cardUrl = `${server.url}/agents/Upstream-agent/.well-known/agent-card.json`;
    const card = (await (await fetch(cardUrl, { headers: { 'A2A-Version': '1.0' } })).json()) as object;
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

  it('completes its task if it is a different Acta server that is killed and restarted during the task', async () => {
    const upstreamDatabase = await createTestDatabase();
    const upstream = await startServer({ databaseUrl: upstreamDatabase.url, env: { ACTA_LEASE_MS: '1500' } });
    const module = await writeAgentModule(
      `export default { name: 'gateway', upstream: { url: process.env.UPSTREAM_URL, token: process.env.UPSTREAM_TOKEN } };`,
    );
    const server = await startServer({
      env: {
        ACTA_AGENTS: module,
        ACTA_UPSTREAM_ALLOW_PRIVATE: 'true',
        UPSTREAM_URL: upstream.url,
        UPSTREAM_TOKEN: TOKEN,
      },
    });
    const caller = new V1Caller(server.url, TOKEN);
    const database = new DatabaseView(server.databaseUrl!);
    const { id } = await caller.start('sleep 2s chunks 3');
    await eventually(
      () => database.eventTypes(id),
      (types) => types.filter((type) => type === 'StatusReported').length > 1,
    );
    upstream.process.kill('SIGKILL');
    await upstream.process.exited;
    const env = { PORT: new URL(upstream.url).port, ACTA_LEASE_MS: '1500' };
    const restarted = await startServer({ databaseUrl: upstreamDatabase.url, env });
    const completed = await caller.untilState(id, 'TASK_STATE_COMPLETED');
    expect(completed.artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'SLEEP 2S CHUNKS 3' }]]);
    expect(await new V1Caller(restarted.url, TOKEN).list()).toMatchObject({ totalSize: 1 });
    await database.close();
    await server.stop();
    await restarted.stop();
    await upstreamDatabase.drop();
  }, 120_000);

  it.each([
    [
      'is unreachable',
      { ACTA_AGENTS: 'http://127.0.0.1:1/', ACTA_UPSTREAM_ALLOW_PRIVATE: 'true' },
      'acta: ACTA_AGENTS: the agent at http://127.0.0.1:1/ cannot be used: the connection failed (ECONNREFUSED)',
    ],
    [
      'has a loopback address that is not allowed',
      { ACTA_AGENTS: 'https://127.0.0.1/' },
      'acta: ACTA_AGENTS: the agent at https://127.0.0.1/ cannot be used: the URL is a loopback address (127.0.0.1), which is not allowed (ACTA_UPSTREAM_ALLOW_PRIVATE=true allows it)',
    ],
  ])(
    'prevents startup with an error of one sentence if it %s',
    async (_why, env, error) => {
      const server = new ActaProcess('server', { PORT: '0', ACTA_DATA_DIR: await createDataDir(), ...env });
      expect((await server.exited).code).toBe(1);
      expect(server.output.trim()).toBe(error);
    },
    60_000,
  );
});
