import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Acta, type Replica } from '../../../test/support/acta.js';
import { aMember } from '../../../test/support/tasks.js';
import { createTestDatabase } from '../../../test/support/database/test-database.js';
import { FEED_START, type FeedCursor, readFeed } from './feed.js';

const alice = aMember('alice');

let acta: Acta;
let replica: Replica;
beforeEach(async () => {
  acta = await Acta.open();
  replica = await acta.replica();
});
afterEach(() => acta?.close());

/**
 * Reads all events that the feed returns, in small pages. It waits for `count` events, because transactions of tests that
 * run at the same time on other databases of the cluster delay the feed.
 */
async function read(from: FeedCursor = FEED_START, count = 0): Promise<{ seen: string[]; cursor: FeedCursor }> {
  const seen: string[] = [];
  let cursor = from;
  for (;;) {
    const page = await readFeed(replica.database, cursor, 3);
    seen.push(...page.events.map((event) => event.event_id));
    ({ cursor } = page);
    if (page.events.length === 0 && seen.length >= count) return { seen, cursor };
  }
}

const stored = async () =>
  (await acta.sql<{ event_id: string }>('select event_id from event')).map((row) => row.event_id);

async function openTransaction(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  return client;
}

async function commit(client: pg.Client): Promise<void> {
  await client.query('commit');
  await client.end();
}

describe('readFeed', () => {
  it('returns every event of every task once', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((text) => replica.sendAndWait(alice, text)));
    const all = await stored();
    const { seen } = await read(FEED_START, all.length);
    expect(seen.toSorted()).toEqual(all.toSorted());
    expect(new Set(seen).size).toBe(seen.length);
  });

  // F36, in this database
  it('returns no events after an uncommitted append, so that it cannot skip it, while tasks complete without delay', async () => {
    const { taskId } = await replica.sendAndWait(alice, 'before');
    const late = await openTransaction(acta.url);
    await late.query(
      `insert into event (tenant_id, task_id, version, event_id, type, schema_version, facts, actor_subject, actor_role,
         command_id, command_fingerprint, correlation_id, recorded_at, hash_version, previous_hash, hash, epoch)
       values ('acme', gen_random_uuid(), 1, gen_random_uuid(), 'TaskSubmitted', 1, '{}', 'x', 'member', 'c', '', 'c', now(), 1, '', '', $1)`,
      [replica.database.epoch],
    );
    const view = await replica.sendAndWait(alice, 'meanwhile');
    expect(view.state.status).toBe('completed');
    const before = (await replica.events('acme', taskId)).length;
    const delayed = await read(FEED_START, before);
    expect(delayed.seen).toHaveLength(before);
    await commit(late);
    const recorded = await stored();
    const remaining = await read(delayed.cursor, recorded.length - before);
    const all = [...delayed.seen, ...remaining.seen];
    expect(new Set(all).size).toBe(all.length);
    expect(all.toSorted()).toEqual(recorded.toSorted());
  });

  // F36, in a different database of the cluster
  it('is delayed by a transaction in a different database of the cluster, and neither skips nor repeats events after it', async () => {
    const other = await createTestDatabase();
    const { cursor: start } = await read();
    const open = await openTransaction(other.url);
    const view = await replica.sendAndWait(alice, 'not delayed');
    expect(view.state.status).toBe('completed');
    const delayed = await read(start);
    expect(delayed.seen).toEqual([]);
    await commit(open);
    const { length } = await replica.events('acme', view.taskId);
    const remaining = await read(delayed.cursor, length);
    expect(remaining.seen).toHaveLength(length);
    expect((await read(remaining.cursor)).seen).toEqual([]);
    await other.drop();
  });

  // F36
  it('neither skips nor repeats events while the transactions of many writers overlap', async () => {
    const seen: string[] = [];
    let cursor = FEED_START;
    let writing = true;
    const reader = (async () => {
      do {
        const page = await read(cursor);
        seen.push(...page.seen);
        ({ cursor } = page);
      } while (writing);
    })();
    for (let round = 0; round < 5; round += 1) {
      const open = await openTransaction(acta.url);
      await Promise.all(Array.from({ length: 8 }, (_, n) => replica.sendAndWait(alice, `${round} ${n}`)));
      await commit(open);
    }
    writing = false;
    await reader;
    const all = await stored();
    seen.push(...(await read(cursor, all.length - seen.length)).seen);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.toSorted()).toEqual(all.toSorted());
  });

  // F39: a dump that was restored into a cluster whose transaction ids are lower than those of the events.
  it('neither skips nor repeats events after a restore into a different cluster', async () => {
    await replica.sendAndWait(alice, 'in the first cluster');
    const before = await read(FEED_START, (await stored()).length);
    await acta.sql(`alter table event disable trigger all`);
    await acta.sql(`update event set transaction_id = ((transaction_id::text::bigint + 4000000000)::text)::xid8`);
    await acta.sql(`alter table event enable trigger all`);
    await acta.sql(`update server_state set system_identifier = 'of the first cluster'`);
    const restored = await acta.replica();
    expect(restored.database.epoch).toBe(replica.database.epoch + 1);
    replica = restored;
    const early = await read();
    expect(early.seen.toSorted()).toEqual(before.seen.toSorted());
    const view = await restored.sendAndWait(alice, 'in the second cluster');
    const { length } = await restored.events('acme', view.taskId);
    const after = await read(early.cursor, length);
    expect(after.seen).toHaveLength(length);
    const [last] = await acta.sql<{ epoch: number }>('select max(epoch) as epoch from event');
    expect(after.cursor.epoch).toBe(last!.epoch);
    // A second start in the same cluster does not start a new epoch.
    expect((await acta.replica()).database.epoch).toBe(restored.database.epoch);
  });
});
