import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BOUNDS } from '@app/domain';
import { sizeOf } from '../../support/extended.js';
import { createDataDir } from '../../support/processes/acta-process.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { V1Caller, type WirePage } from '../../support/clients/rpc.js';
import { type RunningServer, startServer } from '../../support/processes/start-server.js';

/** Says and publishes as much as its message asks for, each call a write of its own. */
const AGENT = `export default {
  name: 'bulk', description: 'says a lot', version: '1.0.0',
  skills: [{ id: 'bulk', name: 'Bulk', description: 'says a lot', tags: [] }],
  async run(ctx) {
    const { messages = 0, artifacts = 0, parts = 1, bytes } = JSON.parse(ctx.text);
    const part = { text: 'x'.repeat(bytes), metadata: { apart: true } };
    for (let n = 0; n < messages; n += 1) await ctx.working([part]);
    for (let n = 0; n < artifacts; n += 1) await ctx.artifact({ id: 'artifact ' + n, parts: Array(parts).fill(part) });
    await ctx.complete();
  },
};`;

const MiB = 1024 * 1024;
const TASKS = sizeOf({ smoke: 20, full: 100 });

let dataDir: string;
let env: Record<string, string>;
let server: RunningServer;

/** The token of a caller that has no task yet: one for each kind of task, so that its list has no other. */
async function tokenOf(subject: string): Promise<string> {
  const database = new DatabaseView(server.databaseUrl!);
  const token = await database.createKey({ subject });
  await database.close();
  return token;
}

async function give(caller: V1Caller, count: number, what: Record<string, number>): Promise<V1Caller> {
  const ask = () => caller.send(JSON.stringify(what), { configuration: { historyLength: 0 } });
  for (let n = 0; n < count; n += 10) await Promise.all(Array.from({ length: Math.min(10, count - n) }, ask));
  return caller;
}

beforeAll(async () => {
  dataDir = await createDataDir();
  const module = join(dataDir, 'bulk.mjs');
  await writeFile(module, AGENT);
  env = { ACTA_AGENTS: module };
  server = await startServer({ dataDir, env });
}, 90_000);
afterAll(() => server?.stop());

/** Bytes of a server process that are in memory now. */
const residentBytes = ({ process }: RunningServer): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(process.pid)], { encoding: 'utf8' })) * 1024;

/** How many artifacts and parts a page has. */
const countOf = ({ tasks }: WirePage) => {
  const artifacts = tasks.flatMap((task) => task.artifacts ?? []);
  return { artifacts: artifacts.length, parts: artifacts.flatMap(({ parts }) => parts).length };
};

async function everyPage(caller: V1Caller, params: Record<string, number | boolean>): Promise<WirePage[]> {
  const pages = [await caller.list(params)];
  for (let last = pages[0]!; last.nextPageToken !== ''; last = pages.at(-1)!) {
    pages.push(await caller.list({ ...params, pageToken: last.nextPageToken }));
  }
  return pages;
}

describe(`${TASKS} tasks with 2 MiB of history each`, () => {
  let caller: V1Caller;
  let reader: RunningServer;
  let fromReader: V1Caller;

  beforeAll(async () => {
    const token = await tokenOf('alice');
    caller = await give(new V1Caller(server.url, token), TASKS, { messages: 105, bytes: 20_000 });
    // Another process, so that what the writing left behind is not taken for what the reading needs.
    reader = await startServer({ dataDir, databaseUrl: server.databaseUrl, env });
    fromReader = new V1Caller(reader.url, token);
  }, 180_000);
  afterAll(() => reader?.stop());

  it('are read one message each without the rest of them coming into memory', async () => {
    await fromReader.list({ pageSize: 1, historyLength: 1 });
    const before = residentBytes(reader);
    for (let n = 0; n < 3; n += 1) {
      const { tasks, totalSize } = await fromReader.list({ pageSize: 100, historyLength: 1 });
      expect([tasks.length, totalSize]).toEqual([TASKS, TASKS]);
      expect(tasks.every(({ history }) => history!.length === 1)).toBe(true);
      expect(residentBytes(reader) - before).toBeLessThan(64 * MiB);
    }
  }, 60_000);

  it('are on pages of at most 4 MiB when all of it is asked for, each task within its own bound', async () => {
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

describe('a page of tasks with artifacts', () => {
  it('ends before the task that would make them more than 100', async () => {
    const caller = await give(new V1Caller(server.url, await tokenOf('bob')), 12, { artifacts: 25, bytes: 10 });
    const pages = await everyPage(caller, { includeArtifacts: true });
    expect(pages.map(({ tasks }) => tasks.length)).toEqual([5, 5, 2]);
    expect(pages.map(countOf)[0]).toEqual({ artifacts: 100, parts: 100 });
    expect(pages[0]!.tasks[0]!.metadata!['acta/truncated']).toEqual({ artifacts: 5 });
    expect(new Set(pages.flatMap(({ tasks }) => tasks.map(({ id }) => id))).size).toBe(12);

    const { tasks } = await caller.list();
    expect(tasks).toHaveLength(12);
    expect(tasks.every((task) => task.artifacts === undefined && task.history === undefined)).toBe(true);
  });

  it('ends before the task that would make their parts more than 1,000', async () => {
    const caller = await give(new V1Caller(server.url, await tokenOf('carol')), 5, {
      artifacts: 20,
      parts: 25,
      bytes: 10,
    });
    const pages = await everyPage(caller, { includeArtifacts: true });
    expect(pages.map(({ tasks }) => tasks.length)).toEqual([2, 2, 1]);
    expect(countOf(pages[0]!)).toEqual({ artifacts: 40, parts: 800 });
  });
});
