import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, type WireTask } from '../../support/clients/rpc.js';
import { EXTENDED } from '../../support/extended.js';
import { useServer } from '../../support/processes/spec-server.js';

const example = (path: string) => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const WORKERS = [
  { language: 'Python', program: 'python3', command: ['python3', example('worker-python/worker.py')] },
  { language: 'Bash', program: 'jq', command: ['bash', example('worker-bash/worker.sh')] },
] as const;
/** Long enough for the heartbeats of a busy machine, and short enough for a test that waits until it expires. */
const LEASE_MS = 4_000;
const TIMEOUT_MS = 90_000;

const server = useServer({
  ACTA_AGENTS: example('agents/remote.mjs'),
  ACTA_LEASE_MS: String(LEASE_MS),
  ACTA_CANCEL_GRACE_MS: '20000',
});
let key: string;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  key = await server.database.createKey({ subject: 'example', role: 'worker', agents: ['shout'] });
});
afterAll(() => {
  for (const child of running) signalGroup(child, 'SIGKILL');
});

/** Signals a worker and every process that it has started. */
const signalGroup = ({ pid }: ChildProcess, signal: NodeJS.Signals) => process.kill(-pid!, signal);

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

interface ExampleWorker {
  readonly child: ChildProcess;
  readonly exitCode: Promise<number>;
  readonly output: () => string;
}

function startWorker([program, ...args]: readonly string[], token = key): ExampleWorker {
  const chunks: string[] = [];
  const env = { ...process.env, SERVER_URL: server.url, WORKER_TOKEN: token };
  const child = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child);
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => chunks.push(String(data)));
  const exitCode = once(child, 'exit').then(([code]) => {
    running.delete(child);
    return code as number;
  });
  return { child, exitCode, output: () => chunks.join('') };
}

const textOf = ({ artifacts }: WireTask): string => artifacts?.[0]?.parts[0]?.text ?? '';

/** Starts a task, and waits until the worker has published a part of its artifact. */
async function startTask(text: string): Promise<string> {
  const { id } = await server.caller.start(text);
  await eventually(
    () => server.caller.get(id),
    ({ artifacts }) => artifacts !== undefined,
  );
  return id;
}

describe.each(WORKERS)('The example worker in $language', ({ language, program, command }) => {
  const installed = isInstalled(program);
  const note = installed ? '' : ` (skipped because ${program} is not installed)`;
  let worker: ExampleWorker;
  beforeAll(() => {
    if (installed) worker = startWorker(command);
  });
  afterAll(async () => {
    worker?.child.kill('SIGTERM');
    await worker?.exitCode;
  });
  const test = installed ? it : it.skip;

  test(
    `publishes an artifact in chunks and completes the task${note}`,
    async () => {
      const task = await server.caller.send('hello "big" wörld * $HOME');
      expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
      expect(textOf(task).toLowerCase()).toBe('hello "big" wörld * $home ');
      const types = await server.database.eventTypes(task.id);
      expect(types.filter((type) => type === 'ArtifactPublished')).toHaveLength(5);
      expect(types.at(-1)).toBe('TaskCompleted');
    },
    TIMEOUT_MS,
  );

  // The two workers implement the same calls, so `npm test` runs the remaining cases with one of them.
  if (language === 'Bash' && !EXTENDED) return;

  test(
    `requires input, and continues the task with the next message${note}`,
    async () => {
      const waiting = await server.caller.send('ask');
      expect(waiting.status).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { parts: [{ text: 'What shall I shout?' }] },
      });
      const completed = await server.caller.send('this', { message: { taskId: waiting.id } });
      expect(completed.artifacts?.[0]?.parts).toEqual([{ text: 'THIS ' }]);
    },
    TIMEOUT_MS,
  );

  test(
    `keeps its lease, receives new messages, and stops when the task is canceled${note}`,
    async () => {
      const id = await startTask('on and on '.repeat(200));
      await server.caller.start('more', { taskId: id });
      // After more than the lease, the run is still active only if heartbeats have arrived.
      const from = performance.now();
      await eventually(
        () => server.caller.get(id),
        (task) => performance.now() - from > LEASE_MS + 500 && /1 more parts/i.test(textOf(task)),
      );
      expect((await server.caller.cancel(id)).status.state).toBe('TASK_STATE_CANCELED');
      const events = (await server.database.streams()).get(id)!;
      expect(events.map(({ type }) => type)).not.toContain('RunLost');
      expect(JSON.parse(events.at(-1)!.facts)).toMatchObject({ reason: 'agent' });
    },
    TIMEOUT_MS,
  );

  test(
    `releases its run on SIGTERM, and the next worker starts the run again${note}`,
    async () => {
      const id = await startTask('one two three four five six seven eight nine ten');
      worker.child.kill('SIGTERM');
      expect(await worker.exitCode).toBe(0);
      const lost = (await server.database.streams()).get(id)!.find(({ type }) => type === 'RunLost');
      expect(JSON.parse(lost!.facts)).toMatchObject({ reason: 'released' });
      worker = startWorker(command);
      const completed = await server.caller.untilState(id, 'TASK_STATE_COMPLETED');
      expect(completed.artifacts?.[0]?.parts).toEqual([{ text: 'ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN ' }]);
      expect(completed.metadata).toMatchObject({ 'acta/run': { attempt: 1 } });
    },
    TIMEOUT_MS,
  );

  test(
    `adds nothing to a task whose lease has expired while the worker was paused${note}`,
    async () => {
      const id = await startTask('alpha beta gamma delta');
      signalGroup(worker.child, 'SIGSTOP');
      await eventually(
        () => server.database.eventTypes(id),
        (types) => types.includes('RunLost'),
      );
      signalGroup(worker.child, 'SIGCONT');
      const completed = await server.caller.untilState(id, 'TASK_STATE_COMPLETED');
      expect(completed.artifacts?.[0]?.parts).toEqual([{ text: 'ALPHA BETA GAMMA DELTA ' }]);
      expect(worker.output()).toMatch(/has ended: /);
    },
    TIMEOUT_MS,
  );

  test(
    `exits with code 1 and the error of the server if its key is wrong${note}`,
    async () => {
      const rejected = startWorker(command, 'acta_wrong');
      expect(await rejected.exitCode).toBe(1);
      expect(rejected.output()).toMatch(/401: /);
    },
    TIMEOUT_MS,
  );
});
