import { countEvents, type EventLogBreak, verifyChains } from '@app/audit';
import { EventLog } from '@app/event-log';
import { Database, ServerSecret, TaskWakeups } from '@app/storage';
import { newInternalCommand, TaskWriter } from '@app/tasks';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aMessage, aTaskId, CLAIM, SUBMIT } from '../support/tasks.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';

let testDatabase: TestDatabase;
let database: Database;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url);
  const secret = new ServerSecret('the secret of a test');
  await database.initializeServerState(secret);
  const streams = new TaskWriter(new EventLog(database, secret), new TaskWakeups(database), { leaseMs: 60_000 });
  for (const tenantId of ['acme', 'other']) {
    for (const task of ['task-1', 'task-2', 'task-3']) {
      const envelope = {
        tenantId,
        taskId: aTaskId(task),
        actor: { subject: 'alice', role: 'member' },
      } as const;
      await streams.apply(
        { ...envelope, ...newInternalCommand('message'), receipt: { subject: 'alice', messageId: task } },
        { ...SUBMIT, message: aMessage(task) },
        null,
      );
      await streams.apply({ ...envelope, ...newInternalCommand('claim') }, { type: 'ClaimRun', claim: CLAIM });
    }
  }
  await streams.wakeups.close();
  await testDatabase.asOwner('alter table event disable trigger event_is_append_only');
});

afterEach(async () => {
  await database.close();
  await testDatabase.drop();
});

describe('verifyChains', () => {
  it('finds no breaks in unchanged streams, and counts streams and events in scope', async () => {
    expect(await verify()).toEqual({ streams: 6, events: 18, breaks: [] });
    expect(await verify({ tenantId: 'acme' })).toEqual({ streams: 3, events: 9, breaks: [] });
    expect(await verify({ tenantId: 'acme', taskId: aTaskId('task-2') })).toEqual({
      streams: 1,
      events: 3,
      breaks: [],
    });
    expect(await countEvents(database, { tenantId: 'other' })).toBe(9);
  });

  it.each([
    ['a changed fact', `update event set facts = '{"parts":2}'`, 2, 'altered-event'],
    ['changed content', `update event set content = '\\x00'`, 2, 'altered-event'],
    ['a changed actor', `update event set actor_subject = 'mallory'`, 2, 'altered-event'],
    ['a removed event', `delete from event`, 2, 'missing-event'],
    ['a removed first event', `delete from event`, 1, 'missing-event'],
    ['a removed last event', `delete from event`, 3, 'missing-event'],
    ['a changed previous hash', `update event set previous_hash = sha256('')`, 3, 'broken-link'],
  ] as const)('reports the task and the version of %s', async (_, sql, version, reason) => {
    const taskId = aTaskId('task-2');
    await testDatabase.asOwner(`${sql} where tenant_id = 'acme' and task_id = $1 and version = $2`, [taskId, version]);
    const { breaks } = await verify();
    expect(breaks).toContainEqual({ tenantId: 'acme', taskId, version, reason });
    expect(new Set(breaks.map((found) => `${found.tenantId} ${found.taskId}`))).toEqual(new Set([`acme ${taskId}`]));
  });

  it('reports a stream without events as long as a different table contains its task', async () => {
    const task = aTaskId('task-1');
    await testDatabase.asOwner(`delete from event where tenant_id = 'acme' and task_id = $1`, [task]);
    const missing = [{ tenantId: 'acme', taskId: task, version: 1, reason: 'missing-stream' }];
    expect((await verify()).breaks).toEqual(missing);
    await testDatabase.asOwner(`delete from task where tenant_id = 'acme' and task_id = $1`, [task]);
    await testDatabase.asOwner(`delete from task_key where tenant_id = 'acme' and task_id = $1`, [task]);
    expect((await verify()).breaks).toEqual(missing);
  });

  it('reports a task row whose head is not the last event, and a missing task row', async () => {
    const [first, third] = [aTaskId('task-1'), aTaskId('task-3')];
    const headless = `update task set head_hash = sha256('') where tenant_id = 'acme' and task_id = $1`;
    await database.pool.query(headless, [first]);
    await database.pool.query(`delete from task where tenant_id = 'other' and task_id = $1`, [third]);
    expect((await verify()).breaks).toEqual([
      { tenantId: 'acme', taskId: first, version: 3, reason: 'other-head' },
      { tenantId: 'other', taskId: third, version: 3, reason: 'no-task-row' },
    ]);
  });
});

async function verify(scope: Parameters<typeof verifyChains>[1] = {}) {
  const total = { streams: 0, events: 0, breaks: [] as EventLogBreak[] };
  for await (const page of verifyChains(database, scope)) {
    total.streams += page.streams;
    total.events += page.events;
    total.breaks.push(...page.breaks);
  }
  return total;
}
