import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BOUNDS } from '@app/domain';
import { sizeOf } from '../../support/extended.js';
import { writeAgentModule } from '../../support/processes/agent-module.js';
import { V1Caller, type WirePage } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { type RunningServer, startServer } from '../../support/processes/start-server.js';

/** Reports and publishes the amounts in its message. Each call is a separate write. */
const AGENT = `export default {
  name: 'bulk', description: 'Publishes large tasks', version: '1.0.0',
  skills: [{ id: 'bulk', name: 'Bulk', description: 'Publishes large tasks', tags: [] }],
  async run(ctx) {
    const { messages = 0, artifacts = 0, parts = 1, bytes } = JSON.parse(ctx.text);
    const part = { text: 'x'.repeat(bytes), metadata: { separate: true } };
    for (let n = 0; n < messages; n += 1) await ctx.working([part]);
    for (let n = 0; n < artifacts; n += 1) await ctx.artifact({ id: 'artifact ' + n, parts: Array(parts).fill(part) });
    await ctx.complete();
  },
};`;

const MiB = 1024 * 1024;
const TASKS = sizeOf({ smoke: 20, full: 100 });

const env = async () => ({ ACTA_AGENTS: await writeAgentModule(AGENT) });
const server = useServer(env);

/** Creates a key whose owner has no task yet, so that a list has only the tasks of one test. */
const createToken = (subject: string): Promise<string> => server.database.createKey({ subject });

/** Creates tasks, at most 10 concurrently. `amounts` is the message for the agent. */
async function createTasks(caller: V1Caller, count: number, amounts: Record<string, number>): Promise<void> {
  const send = () => caller.send(JSON.stringify(amounts), { configuration: { historyLength: 0 } });
  for (let n = 0; n < count; n += 10) await Promise.all(Array.from({ length: Math.min(10, count - n) }, send));
}

/** Counts the artifacts and the parts of a page. */
const countOf = ({ tasks }: WirePage) => {
  const artifacts = tasks.flatMap((task) => task.artifacts ?? []);
  return { artifacts: artifacts.length, parts: artifacts.flatMap(({ parts }) => parts).length };
};

async function allPages(caller: V1Caller, params: Record<string, number | boolean>): Promise<WirePage[]> {
  const pages = [await caller.list(params)];
  for (let last = pages[0]!; last.nextPageToken !== ''; last = pages.at(-1)!) {
    pages.push(await caller.list({ ...params, pageToken: last.nextPageToken }));
  }
  return pages;
}

describe(`A list of ${TASKS} tasks with 2 MiB of history each`, () => {
  let caller: V1Caller;
  let reader: RunningServer;
  let fromReader: V1Caller;

  beforeAll(async () => {
    const token = await createToken('alice');
    caller = new V1Caller(server.url, token);
    await createTasks(caller, TASKS, { messages: 105, bytes: 20_000 });
    // A separate process, because the memory of the first one includes what the writes needed.
    reader = await startServer({ databaseUrl: server.databaseUrl, env: await env() });
    fromReader = new V1Caller(reader.url, token);
  }, 180_000);
  afterAll(() => reader?.stop());

  it('is read in less than 64 MiB of memory with one message per task', async () => {
    await fromReader.list({ pageSize: 1, historyLength: 1 });
    const before = reader.process.residentBytes;
    for (let n = 0; n < 3; n += 1) {
      const { tasks, totalSize } = await fromReader.list({ pageSize: 100, historyLength: 1 });
      expect([tasks.length, totalSize]).toEqual([TASKS, TASKS]);
      expect(tasks.every(({ history }) => history!.length === 1)).toBe(true);
      expect(reader.process.residentBytes - before).toBeLessThan(64 * MiB);
    }
  }, 60_000);

  it('has pages of at most 4 MiB with the complete history, and truncates each task to its own limit', async () => {
    const { tasks, nextPageToken, totalSize } = await caller.list({ pageSize: 100, historyLength: 200 });
    expect(totalSize).toBe(TASKS);
    expect(tasks).toHaveLength(2);
    expect(nextPageToken).not.toBe('');
    for (const task of tasks) {
      expect(Buffer.byteLength(JSON.stringify(task))).toBeLessThanOrEqual(BOUNDS.taskBytes);
      expect(Buffer.byteLength(JSON.stringify(task))).toBeGreaterThan(BOUNDS.taskBytes - 100_000);
      expect(task.metadata!['acta/truncated']).toEqual({ history: 106 - task.history!.length });
    }
    const next = await caller.list({ pageSize: 100, historyLength: 200, pageToken: nextPageToken });
    expect(next.tasks.map(({ id }) => id)).not.toContain(tasks[1]!.id);
  }, 60_000);
});

describe('A page of tasks with artifacts', () => {
  it('ends before the task that exceeds 100 artifacts', async () => {
    const caller = new V1Caller(server.url, await createToken('bob'));
    await createTasks(caller, 12, { artifacts: 25, bytes: 10 });
    const pages = await allPages(caller, { includeArtifacts: true });
    expect(pages.map(({ tasks }) => tasks.length)).toEqual([5, 5, 2]);
    expect(pages.map(countOf)[0]).toEqual({ artifacts: 100, parts: 100 });
    expect(pages[0]!.tasks[0]!.metadata!['acta/truncated']).toEqual({ artifacts: 5 });
    expect(new Set(pages.flatMap(({ tasks }) => tasks.map(({ id }) => id))).size).toBe(12);

    const { tasks } = await caller.list();
    expect(tasks).toHaveLength(12);
    expect(tasks.every((task) => task.artifacts === undefined && task.history === undefined)).toBe(true);
  });

  it('ends before the task that exceeds 1,000 parts', async () => {
    const caller = new V1Caller(server.url, await createToken('carol'));
    await createTasks(caller, 5, { artifacts: 20, parts: 25, bytes: 10 });
    const pages = await allPages(caller, { includeArtifacts: true });
    expect(pages.map(({ tasks }) => tasks.length)).toEqual([2, 2, 1]);
    expect(countOf(pages[0]!)).toEqual({ artifacts: 40, parts: 800 });
  });
});
