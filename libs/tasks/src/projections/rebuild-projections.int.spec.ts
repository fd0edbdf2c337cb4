import { EventLog } from '@app/event-log';
import { Database, ServerSecret, TaskWakeups } from '@app/storage';
import type { RunOutput, TaskCommand } from '@app/domain';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addMessage,
  agentMessage,
  aMessage,
  aTaskId,
  CLAIM,
  FENCE,
  record,
  RETRY,
  SUBMIT,
} from '../../../../test/support/tasks.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { CorruptStream, Projections } from './rebuild-projections.js';
import { newInternalCommandId, TaskWriter } from '../commands/task-writer.js';

const LEASE_MS = 60_000;
const READ_MODELS = ['task', 'context', 'message_receipt', 'run_queue', 'message', 'artifact_chunk'];
/** More than a rebuild reads in one page. */
const MANY = 620;

let testDatabase: TestDatabase;
let database: Database;
let writer: TaskWriter;
let projections: Projections;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url);
  const secret = new ServerSecret('the secret of a test');
  await database.initializeServerState(secret);
  writer = new TaskWriter(new EventLog(database, secret), new TaskWakeups(database), { leaseMs: LEASE_MS });
  projections = Projections.create({ database, secret }, LEASE_MS);
});

afterEach(async () => {
  await writer.wakeups.close();
  await database.close();
  await testDatabase.drop();
});

describe('Projections', () => {
  it('rebuilds every row equal to the row that the appends wrote', async () => {
    await tasksOfEveryKind();
    const before = await readModels();
    for (const table of READ_MODELS) await database.pool.query(`delete from ${table}`);
    await rebuildAll();
    expect(await readModels()).toEqual(before);
  });

  it('changes no row that is correct, including leases', async () => {
    await tasksOfEveryKind();
    const leases = 'select task_id, lease_expires_at::text as ends from run_queue order by task_id';
    const [before, ending] = [await readModels(), (await database.pool.query(leases)).rows];
    expect(await rebuildAll()).toEqual([]);
    expect(await readModels()).toEqual(before);
    expect((await database.pool.query(leases)).rows).toEqual(ending);
  });

  it('reports missing, surplus and different rows, and repairs them only in a rebuild', async () => {
    await working('task-1');
    await write('task-1', [published('one')]);
    const sound = await readModels();
    await database.pool.query(`delete from message where task_id = $1`, [aTaskId('task-1')]);
    await database.pool.query(`update run_queue set attempts = 7, agent = 'other'`);
    await database.pool.query(`update task set status = 'completed'`);
    await database.pool.query(`update message_receipt set task_id = $1`, [aTaskId('task-9')]);
    await database.pool.query(`insert into artifact_chunk values ('acme', $1, 99, 'run-1', 'made-up', 99, 1, 1)`, [
      aTaskId('task-1'),
    ]);
    const wrong = await readModels();
    const task = { tenantId: 'acme', taskId: aTaskId('task-1') };
    const expected = [
      { ...task, table: 'task', key: '', kind: 'different', columns: ['status'] },
      { ...task, table: 'message_receipt', key: 'alice message of task-1', kind: 'different', columns: ['task_id'] },
      { ...task, table: 'run_queue', key: '', kind: 'different', columns: ['agent', 'attempts'] },
      { ...task, table: 'message', key: '2', kind: 'missing', columns: [] },
      { ...task, table: 'artifact_chunk', key: '99', kind: 'surplus', columns: [] },
    ];
    expect(await projections.check(task)).toEqual(expected);
    expect(await readModels()).toEqual(wrong);
    expect(await projections.rebuild(task)).toEqual(expected);
    expect(await readModels()).toEqual(sound);
    expect(await projections.check(task)).toEqual([]);
  });

  it('lets an active run write during rebuilds of its task without fencing it or losing its lease', async () => {
    await working('task-1');
    const writes = async () => {
      for (let seq = 1; seq <= 40; seq += 1) await write('task-1', [published(`chunk ${seq}`, seq > 1)], seq);
    };
    const rebuilds = async () => {
      for (let times = 0; times < 40; times += 1)
        await projections.rebuild({ tenantId: 'acme', taskId: aTaskId('task-1') });
    };
    const checks = async () => {
      for (let times = 0; times < 20; times += 1) {
        expect(await projections.check({ tenantId: 'acme', taskId: aTaskId('task-1') })).toEqual([]);
      }
    };
    await Promise.all([writes(), rebuilds(), checks()]);
    const { rows } = await database.pool.query('select count(*)::integer as chunks from artifact_chunk');
    expect(rows).toEqual([{ chunks: 40 }]);
  });

  it('rejects a stream with missing events and does not change its rows', async () => {
    await working('task-1');
    await testDatabase.asOwner('alter table event disable trigger event_is_append_only');
    await testDatabase.asOwner('delete from event where version = 3');
    const before = await readModels();
    const task = { tenantId: 'acme', taskId: aTaskId('task-1') };
    await expect(projections.rebuild(task)).rejects.toThrow(
      `task "${task.taskId}" of tenant "acme" has a task row with a different head than its events; run \`acta audit verify\``,
    );
    await testDatabase.asOwner('delete from event where version = 1');
    await expect(projections.rebuild(task)).rejects.toThrow(CorruptStream);
    await expect(projections.check({ ...task, taskId: aTaskId('missing') })).rejects.toThrow('has no events');
    expect(await readModels()).toEqual(before);
  });
});

async function tasksOfEveryKind(): Promise<void> {
  await submit('submitted');
  await working('working');
  await write('working', [published('started'), { type: 'status', message: agentMessage('half way') }]);
  await working('asking');
  await write('asking', [published('kept'), { type: 'input-required', message: agentMessage('what?') }]);
  await working('in its second turn');
  await write('in its second turn', [{ type: 'input-required', message: agentMessage('what?') }]);
  await apply('in its second turn', addMessage(aMessage('that')));
  await working('resumed');
  await write('resumed', [{ type: 'auth-required', message: agentMessage('who?') }]);
  await apply('resumed', { type: 'ResumeTask' });
  await working('completed');
  for (let seq = 1; seq <= MANY; seq += 1) await write('completed', [published(`${seq}`, seq > 1)], seq);
  await write('completed', [published('restarted'), published('more', true), { type: 'complete' }], MANY + 1);
  await working('retried');
  await write('retried', [published('lost with its run')]);
  await apply('retried', { type: 'LoseRun', fence: FENCE, reason: 'lease-expired', retry: RETRY });
  await working('canceled');
  await apply('canceled', { type: 'CancelTask', policy: 'fence', deadline: RETRY.notBefore });
  await working('replied');
  await write('replied', [{ type: 'reply', message: agentMessage('no task') }]);
  // A message to an agent without idempotency has no receipt.
  await apply('unreceived', { ...SUBMIT, message: aMessage('unreceived') }, false);
}

const published = (text: string, append = false): RunOutput => ({
  type: 'artifact',
  artifactId: 'text',
  artifact: { parts: [{ text }] },
  append,
  last: false,
});

const submit = (task: string) => apply(task, { ...SUBMIT, message: aMessage(task) });

async function working(task: string): Promise<void> {
  await submit(task);
  await apply(task, { type: 'ClaimRun', claim: CLAIM });
}

const write = (task: string, outputs: readonly RunOutput[], seq = 1) =>
  apply(task, record(outputs, { seq, readThrough: 2 }));

/** Applies a command to the task with a label. */
async function apply(task: string, command: TaskCommand, once = true): Promise<void> {
  const messageId = command.type === 'SubmitTask' && once ? command.message.messageId : undefined;
  await writer.apply(
    {
      tenantId: 'acme',
      taskId: aTaskId(task),
      actor: { subject: 'alice', role: 'member' },
      commandId: messageId === undefined ? newInternalCommandId('message') : `message:alice:${messageId}`,
      fingerprint: Buffer.alloc(32, task),
      ...(messageId === undefined ? {} : { receipt: { subject: 'alice', messageId } }),
      ...('fence' in command ? { fence: command.fence } : {}),
    },
    command,
    command.type === 'SubmitTask' ? null : undefined,
  );
}

async function rebuildAll() {
  const differences = [];
  for await (const task of projections.tasks()) differences.push(...(await projections.rebuild(task)));
  return differences;
}

async function readModels(): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const table of READ_MODELS) {
    const { rows } = await database.pool.query<{ row: unknown }>(
      `select to_jsonb(t) - 'lease_expires_at' as row from ${table} t order by row`,
    );
    found[table] = rows.map(({ row }) => row);
  }
  return found;
}
