import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { eventually, V1Caller } from '../../support/clients/rpc.js';
import { EXTENDED } from '../../support/extended.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const example = (path: string) => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const WORKERS = [
  { name: 'worker-python', needs: 'python3', command: ['python3', example('worker-python/worker.py')] },
  { name: 'worker-bash', needs: 'jq', command: ['bash', example('worker-bash/worker.sh')] },
] as const;

let server: RunningServer;
let database: DatabaseView;
let caller: V1Caller;
let token: string;
/** A lease that a busy machine keeps, and that does not keep the test. */
const LEASE_MS = 4_000;
const PATIENCE_MS = 90_000;
const living = new Set<ChildProcess>();

beforeAll(async () => {
  const env = {
    ACTA_AGENTS: example('agents/remote.mjs'),
    ACTA_LEASE_MS: String(LEASE_MS),
    ACTA_CANCEL_GRACE_MS: '20000',
  };
  server = await startServer({ env });
  database = new DatabaseView(server.databaseUrl!);
  token = await database.createKey({ subject: 'example', role: 'worker', agents: ['shout'] });
  caller = new V1Caller(server.url, TOKEN);
}, 90_000);
afterAll(async () => {
  for (const child of living) signalAll(child, 'SIGKILL');
  await database?.close();
  await server?.stop();
});

/** To a worker and whatever it has started, as a machine that stops does it. */
const signalAll = ({ pid }: ChildProcess, signal: NodeJS.Signals) => process.kill(-pid!, signal);

function isThere(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function start([program, ...args]: readonly string[]): {
  child: ChildProcess;
  gone: Promise<unknown>;
  said: () => string;
} {
  const output: string[] = [];
  const env = { ...process.env, SERVER_URL: server.url, WORKER_TOKEN: token };
  const child = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  living.add(child);
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output.push(String(data)));
  const gone = once(child, 'exit').then(([code]) => {
    living.delete(child);
    return code as number;
  });
  return { child, gone, said: () => output.join('') };
}

describe.each(WORKERS)('examples/$name', ({ name, needs, command }) => {
  const there = isThere(needs);
  const why = there ? '' : ` (skipped: there is no ${needs} here)`;
  let worker: ReturnType<typeof start>;
  beforeAll(() => {
    if (there) worker = start(command);
  });
  afterAll(async () => {
    worker?.child.kill('SIGTERM');
    await worker?.gone;
  });
  const test = there ? it : it.skip;

  test(
    `does the work of its agent, chunk by chunk${why}`,
    async () => {
      const task = await caller.send('hello "big" wörld * $HOME');
      expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
      expect(task.artifacts?.[0]?.parts[0]?.text?.toLowerCase()).toBe('hello "big" wörld * $home ');
      const types = await database.eventTypes(task.id);
      expect(types.filter((type) => type === 'ArtifactPublished')).toHaveLength(5);
      expect(types.at(-1)).toBe('TaskCompleted');
    },
    PATIENCE_MS,
  );

  // The two workers implement the same calls, so `npm test` runs the remaining cases with one of them.
  if (name === 'worker-bash' && !EXTENDED) return;

  test(
    `asks, and goes on with the answer${why}`,
    async () => {
      const asked = await caller.send('ask');
      expect(asked.status).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { parts: [{ text: 'What shall I shout?' }] },
      });
      const done = await caller.send('this', { message: { taskId: asked.id } });
      expect(done.artifacts?.[0]?.parts).toEqual([{ text: 'THIS ' }]);
    },
    PATIENCE_MS,
  );

  test(
    `keeps its lease, hears of messages, and stops when it is canceled${why}`,
    async () => {
      const { id } = await caller.start('on and on '.repeat(200));
      await eventually(
        () => caller.get(id),
        ({ artifacts }) => artifacts !== undefined,
      );
      await caller.start('more', { taskId: id });
      // Longer than its lease: its heartbeats get through.
      const from = performance.now();
      await eventually(
        () => caller.get(id),
        ({ artifacts }) => performance.now() - from > LEASE_MS + 500 && /1 more parts/i.test(textIn(artifacts)),
      );
      expect((await caller.cancel(id)).status.state).toBe('TASK_STATE_CANCELED');
      const events = (await database.streams()).get(id)!;
      expect(events.map(({ type }) => type)).not.toContain('RunLost');
      expect(JSON.parse(events.at(-1)!.facts)).toMatchObject({ reason: 'agent' });
    },
    PATIENCE_MS,
  );

  test(
    `hands its run back when it is told to go, and the next one starts it anew${why}`,
    async () => {
      const { id } = await caller.start('one two three four five six seven eight nine ten');
      await eventually(
        () => caller.get(id),
        ({ artifacts }) => artifacts !== undefined,
      );
      worker.child.kill('SIGTERM');
      expect(await worker.gone).toBe(0);
      const lost = (await database.streams()).get(id)!.find(({ type }) => type === 'RunLost');
      expect(JSON.parse(lost!.facts)).toMatchObject({ reason: 'released' });
      worker = start(command);
      const done = await eventually(
        () => caller.get(id),
        ({ status }) => status.state === 'TASK_STATE_COMPLETED',
      );
      expect(done.artifacts?.[0]?.parts).toEqual([{ text: 'ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN ' }]);
      expect(done.metadata).toMatchObject({ 'acta/run': { attempt: 1 } });
    },
    PATIENCE_MS,
  );

  test(
    `leaves a task alone that was taken from it while it was stopped${why}`,
    async () => {
      const { id } = await caller.start('alpha beta gamma delta');
      await eventually(
        () => caller.get(id),
        ({ artifacts }) => artifacts !== undefined,
      );
      signalAll(worker.child, 'SIGSTOP');
      await eventually(
        () => database.eventTypes(id),
        (types) => types.includes('RunLost'),
      );
      signalAll(worker.child, 'SIGCONT');
      const done = await eventually(
        () => caller.get(id),
        ({ status }) => status.state === 'TASK_STATE_COMPLETED',
      );
      expect(done.artifacts?.[0]?.parts).toEqual([{ text: 'ALPHA BETA GAMMA DELTA ' }]);
      expect(worker.said()).toMatch(/has ended: /);
    },
    PATIENCE_MS,
  );

  test(
    `says what is wrong with its key, and ends${why}`,
    async () => {
      const { token: good } = { token };
      token = 'acta_wrong';
      const refused = start(command);
      token = good;
      expect(await refused.gone).toBe(1);
      expect(refused.said()).toMatch(/401: /);
    },
    PATIENCE_MS,
  );
});

const textIn = (artifacts: { parts: { text?: string }[] }[] | undefined): string =>
  artifacts?.[0]?.parts[0]?.text ?? '';
