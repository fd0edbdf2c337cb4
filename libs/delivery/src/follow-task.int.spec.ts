import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { activeRun, type RecordedEvent, type RunOutput } from '@app/domain';
import { Database, EventLog, ServerSecret, type StreamHead, TaskWakeups } from '@app/storage';
import { freshCommandId, TaskStreams } from '@app/tasks';
import { agentSays, record, SUBMIT } from '../../../test/support/tasks.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { followTask } from './follow-task.js';

const TENANT = 'acme';
const SECRET = new ServerSecret('a secret of the delivery tests, long enough');

let testDatabase: TestDatabase;
let here: Replica;
let there: Replica;

/** What one process of Acta has of the log. */
class Replica {
  readonly database = new Database(testDatabase.url, { maxConnections: 4 });
  readonly wakeups = new TaskWakeups(this.database);
  readonly log = new EventLog(this.database, SECRET);
  readonly streams = new TaskStreams(this.log, this.wakeups, 30_000);

  async start(): Promise<this> {
    await this.database.claimState(SECRET);
    await this.wakeups.start();
    return this;
  }

  /** Versions of a task's events after `after`, up to `until`. */
  async versions(taskId: string, after: number, until: number, slow?: () => Promise<void>): Promise<number[]> {
    const versions: number[] = [];
    if (after >= until) return versions;
    for await (const events of this.follow(taskId, after)) {
      versions.push(...events.map(({ version }) => version));
      if (versions.at(-1)! >= until) break;
      await slow?.();
    }
    return versions;
  }

  follow(taskId: string, after: number, signal = new AbortController().signal) {
    return followTask(this, { tenantId: TENANT, taskId, after }, signal);
  }

  async close(): Promise<void> {
    await this.wakeups.close();
    await this.database.close();
  }
}

/** A task whose run goes on as long as a test wants, three events old at first. */
class LiveTask {
  readonly taskId = randomUUID();
  private head: StreamHead | null = null;
  private seq = 0;

  constructor(private readonly replica: Replica) {}

  get version(): number {
    return this.head!.state.version;
  }

  async start(): Promise<this> {
    await this.apply({ ...SUBMIT, contextId: this.taskId, claim: { runId: this.taskId, worker: 'worker' } });
    return this;
  }

  /** Appends so many events at once. */
  async grow(events: number): Promise<void> {
    const outputs: RunOutput[] = [];
    for (let at = 0; at < events; at += 1) outputs.push({ type: 'status', message: agentSays(`${at}`) });
    const { id: runId, leaseGeneration, dispatcherGeneration } = activeRun(this.head!.state)!;
    this.seq += 1;
    await this.apply(record(outputs, { fence: { runId, leaseGeneration, dispatcherGeneration }, seq: this.seq }));
  }

  private async apply(command: Parameters<TaskStreams['apply']>[1]): Promise<void> {
    const envelope = {
      tenantId: TENANT,
      taskId: this.taskId,
      actor: { subject: 'alice', role: 'member' },
      commandId: freshCommandId('test'),
      fingerprint: Buffer.alloc(32),
    } as const;
    const applied = await this.replica.streams.apply(envelope, command, this.head);
    if (applied.outcome === 'applied') this.head = applied.head;
  }
}

const counting = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  here = await new Replica().start();
  there = await new Replica().start();
});
afterAll(async () => {
  await here?.close();
  await there?.close();
  await testDatabase?.drop();
});

it('reads what is in the log already, page by page, with its content', async () => {
  const task = await new LiveTask(here).start();
  await task.grow(450);
  const events: RecordedEvent[] = [];
  for await (const batch of here.follow(task.taskId, 0)) {
    events.push(...batch);
    if (events.length >= task.version) break;
  }
  expect(events.map(({ version }) => version)).toEqual(counting(1, 453));
  expect(events.at(-1)).toMatchObject({ type: 'StatusReported', content: { message: { parts: [{ text: '449' }] } } });
});

it('starts after the version that it is given', async () => {
  const task = await new LiveTask(here).start();
  await task.grow(5);
  const versions = here.versions(task.taskId, 6, 10);
  await task.grow(2);
  expect(await versions).toEqual([7, 8, 9, 10]);
});

// F8
it.each([
  ['the same', () => here],
  ['another', () => there],
])('misses nothing that happens while it begins to listen, in %s process', async (_which, reading) => {
  for (let race = 0; race < 100; race += 1) {
    const task = await new LiveTask(here).start();
    const writing = (async () => {
      for (let at = 0; at < 3; at += 1) await task.grow(2);
    })();
    // Now and then the reading begins between two appends, or in the middle of one.
    if (race % 3 > 0) await pause(race % 5);
    expect(await reading().versions(task.taskId, 3, 9)).toEqual(counting(4, 9));
    await writing;
  }
});

// F12
it('lets a slow reader fall behind without a gap or a repetition', async () => {
  const task = await new LiveTask(here).start();
  const slow = here.versions(task.taskId, 3, 2_003, () => pause(20));
  const quick = here.versions(task.taskId, 3, 2_003);
  for (let at = 0; at < 100; at += 1) await task.grow(20);
  expect(await quick).toEqual(counting(4, 2_003));
  expect(await slow).toEqual(counting(4, 2_003));
});

it('follows an append of more events than it keeps in memory', async () => {
  const task = await new LiveTask(here).start();
  const versions = here.versions(task.taskId, 3, 1_005);
  await task.grow(1);
  await task.grow(1_000);
  await task.grow(1);
  expect(await versions).toEqual(counting(4, 1_005));
});

describe('between two replicas', () => {
  it('follows what the other one appends', async () => {
    const task = await new LiveTask(there).start();
    const versions = here.versions(task.taskId, 0, 103);
    for (let at = 0; at < 50; at += 1) await task.grow(2);
    expect(await versions).toEqual(counting(1, 103));
  });

  it('goes on while the connection that it is woken through is lost, and after it has come back', async () => {
    const task = await new LiveTask(there).start();
    const stream = here.follow(task.taskId, 3);
    const next = async () =>
      ((await stream.next()).value as readonly RecordedEvent[] | undefined)?.map(({ version }) => version);
    await cutWakeups();
    await task.grow(1);
    expect(await next()).toEqual([4]);
    // One that is new while nothing but polling is left.
    expect(await here.versions(task.taskId, 0, 4)).toEqual([1, 2, 3, 4]);
    await untilListening(2);
    await task.grow(1);
    expect(await next()).toEqual([5]);
    await stream.return(undefined);
  });
});

it('ends when it is told to, also while it waits', async () => {
  const task = await new LiveTask(here).start();
  const end = new AbortController();
  const stream = here.follow(task.taskId, 3, end.signal);
  const waiting = stream.next();
  await pause(20);
  end.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

const LISTENING = `from pg_stat_activity where application_name = 'acta-wakeups' and datname = current_database()`;

async function cutWakeups(): Promise<void> {
  await here.database.pool.query(`select pg_terminate_backend(pid) ${LISTENING}`);
}

async function untilListening(replicas: number): Promise<void> {
  for (;;) {
    const { rowCount } = await here.database.pool.query(`select ${LISTENING} and query ilike 'listen%'`);
    if (rowCount === replicas) return;
    await pause(50);
  }
}
