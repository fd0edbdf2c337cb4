import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { aMember } from '../../../../test/support/tasks.js';
import { HistoryReader } from './history-reader.js';
import { ReadEvents, ReadEventsHandler } from './read-events.query.js';

const alice = aMember('alice');
let acta: Acta;
let replica: Replica;
let handler: ReadEventsHandler;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica();
  const { database, decoder, reader, access } = replica;
  handler = new ReadEventsHandler(new HistoryReader(database, decoder, reader, access));
});
afterAll(() => acta?.close());

describe('ReadEvents', () => {
  it('marks an event as unreadable if its stored content was altered', async () => {
    const { taskId } = await replica.sendAndWait(alice, 'altered');
    const read = async () => (await handler.execute(new ReadEvents(alice, taskId, { after: 0, limit: 10 }))).items;
    const before = await read();
    await acta.sql('alter table event disable trigger event_is_append_only');
    await acta.sql(`update event set content = '\\xdeadbeef' where task_id = $1 and type = 'MessageAccepted'`, [
      taskId,
    ]);
    const after = await read();
    expect(before.map(({ event, unreadable }) => [event.type, unreadable])).toContainEqual([
      'MessageAccepted',
      undefined,
    ]);
    const [message] = after.filter(({ event }) => event.type === 'MessageAccepted');
    expect(message).toMatchObject({ unreadable: true, actor: { subject: 'alice', role: 'member' } });
    expect(message!.event.content).toBeUndefined();
    expect(after.filter(({ unreadable }) => unreadable)).toHaveLength(1);
  });
});
