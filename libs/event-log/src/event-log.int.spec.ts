import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TaskCommand } from '@app/domain';
import { DECODED_COLUMNS, type DecodedColumns, type TaskHead, type WrappedKeyColumns } from '@app/storage';
import { Acta, type Replica } from '../../../test/support/acta.js';
import { addMessage, aMessage, aTaskId, SUBMIT } from '../../../test/support/tasks.js';
import { LOAD_HEAD } from './event-log.statements.js';
import { anAppend, FINGERPRINT, TENANT } from '../../../test/support/an-append.js';

let acta: Acta;
let first: Replica;
let second: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  [first, second] = await Promise.all([acta.replica({ concurrency: 0 }), acta.replica({ concurrency: 0 })]);
});
afterAll(() => acta?.close());

async function headOf(task: string): Promise<TaskHead> {
  return (await first.log.head(TENANT, aTaskId(task)))!;
}

const add = (text: string): TaskCommand => addMessage(aMessage(text));

describe('The planner, on tables without statistics,', () => {
  it.each([
    ['the row of a task', 'task', 'update task set status = status where tenant_id = $1 and task_id = $2'],
    [
      'the row of a task in the queue',
      'run_queue',
      'select from run_queue where tenant_id = $1 and task_id = $2 for update',
    ],
    ['the head of a stream', 'task', LOAD_HEAD.text.replaceAll(/\$[34]/g, 'null')],
    ['the events of a stream', 'event', 'select from event where tenant_id = $1 and task_id = $2 and version > 0'],
  ])('reads %s through the primary key', async (_what, table, statement) => {
    const empty = await Acta.open();
    try {
      const plan = await (
        await empty.replica({ concurrency: 0 })
      ).database.transaction(async (executor) => {
        await executor.query('set local plan_cache_mode = force_generic_plan');
        await executor.query(`prepare planned (text, uuid) as ${statement}`);
        const { rows } = await executor.query<{ 'QUERY PLAN': string }>(
          `explain execute planned ('acme', '${aTaskId('t1')}')`,
        );
        await executor.query('deallocate planned');
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      });
      expect(plan).toMatch(new RegExp(`using ${table}_pkey on ${table}\\b`));
    } finally {
      await empty.close();
    }
  });
});

describe('EventLog', () => {
  it('returns the appended events decrypted and in the order of their versions', async () => {
    const result = await first.log.append(anAppend('t1', null, SUBMIT));
    expect(result.outcome).toBe('appended');
    const events = await second.log.read(TENANT, aTaskId('t1'), 0, 10);
    expect(events.map(({ version, type }) => [version, type])).toEqual([
      [1, 'TaskSubmitted'],
      [2, 'MessageAccepted'],
    ]);
    expect(events[1]!.content?.message).toEqual(SUBMIT.message);
    expect(await second.log.read(TENANT, aTaskId('t1'), 1, 10)).toEqual(events.slice(1));
    expect(await second.log.read('other', aTaskId('t1'), 0, 10)).toEqual([]);
  });

  it('accepts one of several concurrent appends to the same version, also to the first', async () => {
    const creations = await Promise.all([first, second].map(({ log }) => log.append(anAppend('t2', null, SUBMIT))));
    expect(creations.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'conflict']);
    const head = await headOf('t2');
    const appends = Array.from({ length: 10 }, (_, n) =>
      (n % 2 === 0 ? first : second).log.append(anAppend('t2', head, add(`${n}`))),
    );
    const outcomes = (await Promise.all(appends)).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'appended')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(9);
    expect((await headOf('t2')).state.version).toBe(3);
  });

  it('records a command once, also if it is repeated with a later version', async () => {
    await first.log.append(anAppend('t3', null, SUBMIT));
    const once = { commandId: 'the one command' };
    expect((await first.log.append(anAppend('t3', await headOf('t3'), add('x'), once))).outcome).toBe('appended');
    const again = await second.log.append(anAppend('t3', await headOf('t3'), add('x'), once));
    expect(again).toEqual({ outcome: 'recorded', fingerprint: FINGERPRINT });
    // The same id in a different task is a different command.
    expect((await first.log.append(anAppend('t4', null, SUBMIT, once))).outcome).toBe('appended');
  });

  it('stores nothing of an append that is rejected as a conflict', async () => {
    await first.log.append(anAppend('t5', null, SUBMIT));
    const head = await headOf('t5');
    await first.log.append(anAppend('t5', head, add('in time')));
    const receipt = { subject: 'alice', messageId: 'too late' };
    expect((await first.log.append(anAppend('t5', head, add('too late'), { receipt }))).outcome).toBe('conflict');
    expect(await first.log.receipt(TENANT, receipt)).toBeNull();
    expect((await headOf('t5')).state.version).toBe(3);
  });

  it('returns no head for a text that is not a UUID in canonical form', async () => {
    await first.log.append(anAppend('t13', null, SUBMIT));
    const id = aTaskId('t13');
    const others = ['t13', '', id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`, `${id} `, `urn:uuid:${id}`];
    for (const other of others) expect(await first.log.head(TENANT, other)).toBeNull();
    expect(await first.log.head(TENANT, id)).not.toBeNull();
  });

  it('returns the first receipt for a message that was received before', async () => {
    const receipt = { subject: 'alice', messageId: 'received' };
    await first.log.append(anAppend('t6', null, SUBMIT, { receipt }));
    const again = await second.log.append(anAppend('t7', null, SUBMIT, { receipt, fingerprint: Buffer.alloc(32, 2) }));
    expect(again).toEqual({ outcome: 'received', receipt: { taskId: aTaskId('t6'), fingerprint: FINGERPRINT } });
    expect(await first.log.head(TENANT, aTaskId('t7'))).toBeNull();
  });

  it('accepts a new task in a context in which a concurrent transaction starts a task', async () => {
    const submit: TaskCommand = { ...SUBMIT, contextId: 'shared by concurrent tasks' };
    await first.log.append(anAppend('t10', null, submit));
    await first.database.transaction(async (executor) => {
      expect((await first.log.append(anAppend('t11', null, submit), executor)).outcome).toBe('appended');
      expect((await second.log.append(anAppend('t12', null, submit))).outcome).toBe('appended');
    });
  });

  it('rejects a context that belongs to a different ring of the same owner', async () => {
    const dev: TaskCommand = { ...SUBMIT, contextId: 'shared' };
    expect((await first.log.append(anAppend('t8', null, dev))).outcome).toBe('appended');
    const ops: TaskCommand = { ...dev, ring: 'ring:ops' };
    expect((await first.log.append(anAppend('t9', null, ops))).outcome).toBe('other-ring');
    expect((await first.log.append(anAppend('t9', null, { ...ops, owner: 'bob' }))).outcome).toBe('appended');
  });
});

describe('The event table', () => {
  // F38
  it('rejects UPDATE, DELETE and TRUNCATE', async () => {
    for (const statement of [
      `update event set facts = '{}'`,
      `update event set content = null where false`,
      'delete from event',
      'truncate event',
      'truncate event, task',
    ]) {
      await expect(acta.sql(statement)).rejects.toThrow(/append-only/);
    }
  });

  it('contains content that can be decrypted only with the key of its task and the id of its event', async () => {
    const [one, other] = await acta.sql<DecodedColumns & WrappedKeyColumns>(
      `select ${DECODED_COLUMNS}, k.wrapped_key, k.key_id from event e join task_key k using (tenant_id, task_id)
       where e.content is not null and e.task_id = any($1::uuid[]) and e.version = 2 order by array_position($1::uuid[], e.task_id)`,
      [[aTaskId('t1'), aTaskId('t2')]],
    );
    const key = first.decoder.unwrapKey(TENANT, aTaskId('t1'), one!)!;
    const decrypt = (content: Buffer | null, eventId: string) =>
      first.decoder.decode({ ...one!, content, event_id: eventId }, key).content;
    expect(decrypt(one!.content, one!.event_id)?.message).toEqual(SUBMIT.message);
    const flipped = Buffer.from(one!.content!);
    flipped[20]! ^= 1;
    expect(decrypt(flipped, one!.event_id)).toBeUndefined();
    expect(decrypt(one!.content, other!.event_id)).toBeUndefined();
    expect(decrypt(other!.content, other!.event_id)).toBeUndefined();
  });
});
