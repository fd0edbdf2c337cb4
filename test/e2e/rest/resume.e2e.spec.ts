import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import { SEVERAL_AGENTS } from '../agents/modules/agent-modules.js';
import { NativeApi } from './native-api.js';

const env = { ACTA_AGENTS: `demo,${SEVERAL_AGENTS}` };
let shared: TestDatabase;
let database: DatabaseView;
let server: RunningServer;
/** A replica without a worker. */
let replica: RunningServer;

beforeAll(async () => {
  shared = await createTestDatabase();
  database = new DatabaseView(shared.url);
  [server, replica] = await Promise.all([
    startServer({ databaseUrl: shared.url, env }),
    startServer({ databaseUrl: shared.url, env: { ...env, ACTA_WORKER_CONCURRENCY: '0' } }),
  ]);
}, 120_000);
afterAll(async () => {
  await database?.close();
  await Promise.all([server?.stop(), replica?.stop()]);
  await shared?.drop();
});

const callerOf = (agent: string) => new V1Caller(`${server.url}/agents/${agent}`, TOKEN);
const resume = (id: string, { url } = server) => new NativeApi(url, TOKEN).request(`${id}:resume`, 'POST');

async function taskThatRequiresAuth(): Promise<string> {
  const task = await callerOf('bank').send('pay');
  expect(task.status).toMatchObject({ state: 'TASK_STATE_AUTH_REQUIRED' });
  return task.id;
}

/** Waits for the completion of a resumed task, whose artifact contains all of its messages. */
async function expectCompleted(id: string): Promise<void> {
  const { artifacts } = await callerOf('bank').untilState(id, 'TASK_STATE_COMPLETED');
  expect(artifacts?.[0]?.parts).toEqual([{ text: 'agent: Sign in at the bank.\nuser: pay' }]);
}

describe('POST /api/tasks/{id}:resume', () => {
  it('continues the task once with its complete history if it is sent to two replicas', async () => {
    const id = await taskThatRequiresAuth();
    const responses = await Promise.all([resume(id, replica), resume(id)]);
    expect(responses[0]).toMatchObject({ status: 200, body: { id } });
    await expectCompleted(id);
    expect((await database.eventTypes(id)).filter((type) => type === 'TaskResumed')).toHaveLength(1);
  });

  it('continues the task after a restart of the server', async () => {
    const id = await taskThatRequiresAuth();
    await server.stop();
    server = await startServer({ databaseUrl: shared.url, env });
    expect((await resume(id)).status).toBe(200);
    await expectCompleted(id);
  });

  it('returns 400 for a task that requires input, 409 for an ended task and 404 for an unknown task', async () => {
    const waiting = await callerOf('demo').send('ask');
    expect(await resume(waiting.id)).toMatchObject({ status: 400, body: { kind: 'InvalidParameters' } });
    const ended = await callerOf('demo').send('hello');
    expect(await resume(ended.id)).toMatchObject({ status: 409, body: { kind: 'TaskEnded' } });
    expect(await resume(randomUUID())).toMatchObject({ status: 404, body: { error: 'task not found' } });
  });
});
