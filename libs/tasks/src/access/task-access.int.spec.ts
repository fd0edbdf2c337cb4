import { AuditLog } from '@app/access';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canAccess, type Principal } from '@app/domain';
import fc from 'fast-check';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { aMember } from '../../../../test/support/tasks.js';
import { callerValues } from './task-access.js';

const alice = aMember('alice');
const admin: Principal = { ...alice, subject: 'root', role: 'admin' };

let acta: Acta;
let replica: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica();
});
afterAll(() => acta?.close());

const entriesOf = async (taskId: string) => {
  const log = AuditLog.over(replica.database);
  return (await log.list(admin, { taskId, limit: 100 })).items;
};

describe('can_access', () => {
  it('is the same rule as canAccess for every caller and task', async () => {
    const name = fc.constantFrom('a', 'b', 'ring:x', 'ring:y', '');
    const principal = fc.record({
      tenantId: name,
      subject: name,
      role: fc.constantFrom<Principal['role']>('member', 'admin', 'worker', 'operator'),
      rings: fc.array(name, { maxLength: 3 }),
      agents: fc.constant([]),
    });
    const cases = fc.sample(fc.tuple(principal, fc.record({ tenantId: name, owner: name, ring: name })), {
      numRuns: 2_000,
      seed: 1,
    });
    const rows = cases.map(([caller, { tenantId, owner, ring }]) => [...callerValues(caller), tenantId, owner, ring]);
    const results = (await acta.sql(
      `select can_access(c->>0, (c->>1)::boolean, c->>2, array(select jsonb_array_elements_text(c->3)), c->>4, c->>5, c->>6) as allowed
       from jsonb_array_elements($1::jsonb) with ordinality as x (c, nth) order by nth`,
      [JSON.stringify(rows)],
    )) as { allowed: boolean }[];
    expect(results.map(({ allowed }) => allowed)).toEqual(cases.map(([caller, task]) => canAccess(caller, task)));
    expect(new Set(results.map(({ allowed }) => allowed))).toEqual(new Set([true, false]));
  });
});

describe('TaskAccess', () => {
  it('writes an entry that matches its hash, and finds it altered after a change', async () => {
    const { taskId } = await replica.sendAndWait(alice, 'héllo 日本');
    await replica.get(admin, taskId);
    const [entry] = await entriesOf(taskId);
    expect(entry).toMatchObject({ type: 'TaskAccessed', facts: { operation: 'GetTask', taskIds: [taskId] } });
    expect(entry!.altered).toBeUndefined();
    await acta.sql('alter table audit_entry disable trigger audit_entry_is_append_only');
    await acta.sql(`update audit_entry set actor_subject = 'mallory' where entry_id = $1`, [entry!.entryId]);
    await acta.sql('alter table audit_entry enable trigger audit_entry_is_append_only');
    expect((await entriesOf(taskId))[0]!.altered).toBe(true);
  });

  it('rejects the read of an admin if its entry cannot be written, and not the read of the owner', async () => {
    const { taskId } = await replica.sendAndWait(alice, 'refused');
    await acta.sql(`alter table audit_entry add constraint full_disk check (actor_subject <> 'root') not valid`);
    try {
      await expect(replica.get(admin, taskId)).rejects.toThrow('full_disk');
      await expect(replica.list(admin, {})).rejects.toThrow('full_disk');
      expect((await replica.get(alice, taskId)).taskId).toBe(taskId);
    } finally {
      await acta.sql('alter table audit_entry drop constraint full_disk');
    }
    expect(await entriesOf(taskId)).toEqual([]);
  });

  it('records the reads of own tasks, and no commands on them, if all reads are recorded', async () => {
    const recording = await acta.replica({ recordedReads: 'all' });
    const { taskId } = await recording.sendAndWait(alice, 'recorded');
    await recording.cancel(alice, taskId).catch(() => undefined);
    await recording.get(alice, taskId);
    await recording.list(alice, {});
    const facts = (await entriesOf(taskId)).map((entry) => [entry.actor.subject, entry.facts['operation']]);
    expect(facts).toEqual([
      ['alice', 'ListTasks'],
      ['alice', 'GetTask'],
    ]);
  });
});
