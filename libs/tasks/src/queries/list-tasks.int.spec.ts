import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, type Message, type TaskView } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { FakeClock } from '../../../../test/support/fake-clock.js';
import { ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import type { ListTasksRequest } from './list-tasks.query.js';

const agent = new ScriptedAgent();
const clock = new FakeClock();
let acta: Acta;
/** Its clock stands still unless a test advances it. */
let first: Replica;
let second: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  first = await acta.replica({ agents: [agent.definition], concurrency: 0, now: clock.now });
  second = await acta.replica({ agents: [agent.definition], concurrency: 0 });
});
afterAll(() => acta?.close());

const ids = (tasks: readonly TaskView[]) => tasks.map((task) => task.taskId);

async function invalidFieldOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!DomainError.is(error, 'InvalidParameters')) return String(error);
  return error.details.violations[0]!.field;
}

/** Reads all pages, alternately from both replicas. */
async function pages(principal: ReturnType<typeof aMember>, request: ListTasksRequest) {
  const all: TaskView[][] = [];
  const totals = new Set<number>();
  let pageToken: string | undefined;
  do {
    const replica = all.length % 2 === 0 ? first : second;
    const page = await replica.list(principal, { ...request, pageToken });
    all.push([...page.tasks]);
    totals.add(page.totalSize);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return { all, totals: [...totals] };
}

describe('ListTasks', () => {
  // F23, F40
  it('returns 1,000 tasks with one timestamp once each, in pages of seven from alternating replicas', async () => {
    const many = aMember('many');
    const made: string[] = [];
    for (let batch = 0; batch < 40; batch += 1) {
      const texts = Array.from({ length: 25 }, (_, n) => `${batch} ${n}`);
      made.push(...(await Promise.all(texts.map((text) => first.submit(many, text)))));
    }
    const { all, totals } = await pages(many, { pageSize: 7 });
    expect(ids(all.flat())).toEqual([...made].sort().reverse());
    expect(all.map((page) => page.length)).toEqual([...Array<number>(142).fill(7), 6]);
    expect(totals).toEqual([1_000]);
  });

  // [A2A-LIST-5]
  it('returns the newest status first, without history or artifacts unless the request includes them', async () => {
    const alice = aMember('alice');
    const made: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      clock.advance(1_000);
      made.push(await first.submit(alice, text));
    }
    const { tasks, totalSize, pageSize, nextPageToken } = await second.list(alice);
    expect(ids(tasks)).toEqual(made.toReversed());
    // F27: absent is 50.
    expect({ totalSize, pageSize, nextPageToken }).toEqual({ totalSize: 3, pageSize: 50, nextPageToken: '' });
    expect(tasks[0]).toMatchObject({ history: [], artifacts: [] });
    const [withHistory] = (await second.list(alice, { historyLength: 5, includeArtifacts: true })).tasks;
    expect(withHistory!.history).toEqual([aMessage('three')]);
  });

  // F24
  it('continues after the token when the task of the token was updated or no longer matches the filter', async () => {
    const carol = aMember('carol');
    const made: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      clock.advance(1_000);
      made.push(await first.submit(carol, `task ${n}`));
    }
    made.reverse();
    const page = await first.list(carol, { pageSize: 2, status: 'submitted' });
    expect(ids(page.tasks)).toEqual(made.slice(0, 2));
    clock.advance(1_000);
    // The canceled task has a later status timestamp and no longer matches the filter.
    await first.cancel(carol, made[1]!);
    const next = { pageSize: 2, status: 'submitted', pageToken: page.nextPageToken } as const;
    const rest = await second.list(carol, next);
    expect(ids(rest.tasks)).toEqual(made.slice(2, 4));
    expect(rest.totalSize).toBe(5);
  });

  // F25
  it('rejects a token of a different caller, of different filters, or altered by one byte', async () => {
    const dave = aMember('dave');
    for (let n = 0; n < 3; n += 1) await first.submit(dave, `task ${n}`);
    const { nextPageToken: pageToken } = await first.list(dave, { pageSize: 1 });
    expect((await second.list(dave, { pageSize: 2, pageToken })).tasks).toHaveLength(2);
    const altered = `${pageToken.slice(0, -1)}${pageToken.endsWith('A') ? 'B' : 'A'}`;
    const wrong: [ReturnType<typeof aMember>, ListTasksRequest][] = [
      [aMember('erin'), { pageToken }],
      [aMember('dave', { tenantId: 'other' }), { pageToken }],
      [aMember('dave', { rings: ['ring:dev', 'ring:ops'] }), { pageToken }],
      [aMember('dave', { role: 'admin' }), { pageToken }],
      [dave, { pageToken, status: 'working' }],
      [dave, { pageToken, contextId: 'c' }],
      [dave, { pageToken, statusTimestampAfter: '2020-01-01T00:00:00Z' }],
      [dave, { pageToken: altered }],
      [dave, { pageToken: 'not a token' }],
    ];
    for (const [caller, request] of wrong) expect(await invalidFieldOf(second.list(caller, request))).toBe('pageToken');
  });

  // F26
  it('includes a task whose status timestamp equals statusTimestampAfter', async () => {
    const frank = aMember('frank');
    clock.advance(1_000);
    const before = await first.submit(frank, 'before');
    clock.advance(1);
    const statusTimestampAfter = clock.now().toISOString();
    const included = await first.submit(frank, 'at');
    const { tasks, totalSize } = await second.list(frank, { statusTimestampAfter });
    expect(ids(tasks)).toEqual([included]);
    expect(totalSize).toBe(1);
    expect(ids((await second.list(frank)).tasks)).toEqual([included, before]);
  });

  // F27
  it('rejects page sizes that are not integers from 1 to 100', async () => {
    for (const pageSize of [0, 101, -1, 2.5, NaN, '10' as unknown as number]) {
      expect(await invalidFieldOf(first.list(aMember('alice'), { pageSize }))).toBe('pageSize');
    }
    expect((await first.list(aMember('alice'), { pageSize: 100 })).pageSize).toBe(100);
  });

  it('filters by context and status and returns the exact total', async () => {
    const gina = aMember('gina');
    const one = await first.submit(gina, 'one', { contextId: 'talk' });
    const two = await first.submit(gina, 'two', { contextId: 'talk' });
    await first.submit(gina, 'three');
    await first.cancel(gina, two);
    const listed = async (request: ListTasksRequest) => {
      const { tasks, totalSize } = await second.list(gina, request);
      expect(totalSize).toBe(tasks.length);
      return ids(tasks).sort();
    };
    expect(await listed({ contextId: 'talk' })).toEqual([one, two].sort());
    expect(await listed({ contextId: 'talk', status: 'canceled' })).toEqual([two]);
    expect(await listed({ contextId: 'no such' })).toEqual([]);
    expect((await second.list(gina, { pageSize: 1 })).totalSize).toBe(3);
  });

  it('returns to members their own tasks in their current rings, and to admins all tasks of the tenant', async () => {
    const tenantId = 'rings';
    const harry = aMember('harry', { tenantId, rings: ['ring:dev', 'ring:ops'] });
    const ida = aMember('ida', { tenantId });
    const dev = await first.submit(harry, 'in dev');
    const inOps: Message = { ...aMessage('in ops'), metadata: { ring: 'ring:ops' } };
    const ops = await first.submit(harry, inOps);
    const other = await first.submit(ida, 'of ida');
    const seen = async (changes: Parameters<typeof aMember>[1]) =>
      ids((await second.list(aMember('harry', { tenantId, ...changes }))).tasks).sort();
    expect(await seen({ rings: ['ring:dev', 'ring:ops'] })).toEqual([dev, ops].sort());
    expect(await seen({ rings: ['ring:ops'] })).toEqual([ops]);
    expect(await seen({ rings: [] })).toEqual([]);
    expect(await seen({ role: 'worker', rings: [] })).toEqual([]);
    expect(await seen({ role: 'admin', rings: [] })).toEqual([dev, ops, other].sort());
    expect(await seen({ role: 'admin', tenantId: 'other' })).toEqual([]);
  });
});
