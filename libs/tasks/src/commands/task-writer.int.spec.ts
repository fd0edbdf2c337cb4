import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, type TaskCommand } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { addMessage, aMessage, aTaskId, SUBMIT } from '../../../../test/support/tasks.js';

let acta: Acta;
let first: Replica;
let second: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  first = await acta.replica({ concurrency: 0 });
  second = await acta.replica({ concurrency: 0 });
});
afterAll(() => acta?.close());

const envelope = (task: string, commandId: string, payload = 1) => ({
  tenantId: 'acme',
  taskId: aTaskId(task),
  actor: { subject: 'alice', role: 'member' as const },
  commandId,
  fingerprint: Buffer.alloc(32, payload),
});
const add = (text: string): TaskCommand => addMessage(aMessage(text));

describe('TaskWriter', () => {
  it('appends nothing when a command is retried, on any replica', async () => {
    await first.writer.apply(envelope('t1', 'submit'), SUBMIT, null);
    const once = await first.writer.apply(envelope('t1', 'add'), add('more'));
    const again = await second.writer.apply(envelope('t1', 'add'), add('more'));
    expect(again).toMatchObject({ outcome: 'applied', events: [] });
    expect(once).toMatchObject({ head: { state: { version: 3 } } });
    expect(again).toMatchObject({ head: { state: { version: 3 } } });
  });

  it('throws CommandConflict for a recorded command id with a different payload', async () => {
    await first.writer.apply(envelope('t2', 'submit'), SUBMIT, null);
    await first.writer.apply(envelope('t2', 'add', 1), add('one'));
    const other = second.writer.apply(envelope('t2', 'add', 2), add('two'));
    await expect(other).rejects.toThrow(DomainError);
    await expect(other).rejects.toMatchObject({ kind: 'CommandConflict' });
    expect((await first.log.head('acme', aTaskId('t2')))!.state.version).toBe(3);
  });

  it('never records an earlier time than that of the previous event', async () => {
    await first.writer.apply(envelope('t3', 'submit'), SUBMIT, null);
    const behind = new Date('2020-01-01T00:00:00Z');
    const slow = await acta.replica({ concurrency: 0, now: () => behind });
    await slow.writer.apply(envelope('t3', 'late'), add('from a clock that is behind'));
    const events = await first.log.read('acme', aTaskId('t3'), 0, 10);
    const times = events.map((event) => event.recordedAt);
    expect(times).toEqual([...times].sort());
    expect(times.at(-1)! > behind.toISOString()).toBe(true);
  });
});
