import { describe, expect, it } from '@jest/globals';
import { evolveAll, type RecordedEvent } from '@app/domain';
import type { TaskChange, TaskWakeups } from '@app/storage';
import { Subject } from 'rxjs';
import { recorded, SUBMITTED } from '../../../../test/support/tasks.js';
import type { TaskReader } from '../queries/task-reader.js';
import { CatchUpSubscription } from './catch-up-subscription.js';
import { followTask } from './follow-task.js';
import { TaskFollower } from './task-follower.js';

const TASK = { tenantId: 'acme', taskId: 'task-1' };
const BUFFER_EVENTS = 256;

const TIME = '2026-01-01T00:00:00.000Z';

const event = (version: number): RecordedEvent =>
  recorded([{ type: 'TaskResumed', facts: { dispatcherGeneration: version } }], TIME, version)[0]!;
const events = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => event(first + index));
const versions = (list: readonly RecordedEvent[]) => list.map(({ version }) => version);

/** A log and wake-ups in memory. `log` holds what a read returns. */
class FakeSource {
  readonly log: RecordedEvent[] = [];
  readonly reads: { readonly after: number; readonly limit: number }[] = [];
  private readonly changes = new Subject<TaskChange>();
  private readonly waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  /** Runs before a read returns. */
  onRead: () => void = () => {};

  readonly reader = {
    events: async (_tenantId: string, _taskId: string, after: number, limit: number) => {
      this.reads.push({ after, limit });
      for (const { count, resolve } of this.waiting) if (this.reads.length >= count) resolve();
      const page = this.log.filter(({ version }) => version > after).slice(0, limit);
      this.onRead();
      return page;
    },
  } as unknown as TaskReader;
  readonly wakeups = { changes: () => this.changes } as unknown as TaskWakeups;

  untilReads(count: number): Promise<void> {
    return new Promise((resolve) => this.waiting.push({ count, resolve }));
  }

  /** A change by this process. */
  append(appended: readonly RecordedEvent[]): void {
    this.log.push(...appended);
    this.changes.next({ ...TASK, version: appended.at(-1)!.version, events: appended });
  }

  /** A change by another process. */
  announce(version: number): void {
    this.changes.next({ ...TASK, version });
  }
}

/** A subscription whose consumer takes all events as they arrive. */
function subscribe(source: FakeSource) {
  const received: RecordedEvent[] = [];
  const subscription = new CatchUpSubscription(source, TASK.tenantId, TASK.taskId, {
    onEvents: () => subscription.drain((some) => received.push(...some)),
  });
  return { subscription, received };
}

/** Reads that have been started are over after a turn of the event loop. */
const settled = () => new Promise(setImmediate);

describe('CatchUpSubscription', () => {
  it('delivers appends of its own process synchronously and without a read', () => {
    const source = new FakeSource();
    const { subscription, received } = subscribe(source);
    subscription.start(3);
    source.append(events(4, 5));
    source.append(events(6, 400));
    expect(versions(received)).toEqual(versions(events(4, 400)));
    expect(source.reads).toEqual([]);
    subscription.close();
  });

  it('applies changes that arrived before the start and skips those that the start includes', () => {
    const source = new FakeSource();
    const { subscription, received } = subscribe(source);
    source.append(events(1, 3));
    source.append(events(4, 4));
    expect(received).toEqual([]);
    subscription.start(3);
    expect(versions(received)).toEqual([4]);
    expect(source.reads).toEqual([]);
    subscription.close();
  });

  it('reads a change by another process in pages, and continues without a read', async () => {
    const source = new FakeSource();
    const { subscription, received } = subscribe(source);
    subscription.start(0);
    source.log.push(...events(1, 450));
    source.announce(450);
    await settled();
    source.append(events(451, 451));
    expect(versions(received)).toEqual(versions(events(1, 451)));
    expect(source.reads.map(({ after }) => after)).toEqual([0, 200, 400]);
    subscription.close();
  });

  it('reads the gap before an append of its own process', async () => {
    const source = new FakeSource();
    const { subscription, received } = subscribe(source);
    subscription.start(3);
    source.log.push(...events(4, 6));
    source.append(events(7, 7));
    await settled();
    expect(versions(received)).toEqual([4, 5, 6, 7]);
    expect(source.reads).toHaveLength(1);
    subscription.close();
  });

  it('delivers an append once if it arrives while a read that includes it is in progress', async () => {
    const source = new FakeSource();
    const { subscription, received } = subscribe(source);
    subscription.start(3);
    source.log.push(event(4), event(5));
    source.onRead = () => {
      source.onRead = () => {};
      source.append(events(6, 6));
    };
    source.announce(5);
    await settled();
    expect(versions(received)).toEqual([4, 5, 6]);
    subscription.close();
  });

  it('keeps a bounded number of events for a consumer that is busy, and reads the others when it is idle', async () => {
    const source = new FakeSource();
    const subscription = new CatchUpSubscription(source, TASK.tenantId, TASK.taskId, { onEvents: () => undefined });
    subscription.start(0);
    for (const one of events(1, BUFFER_EVENTS + 100)) source.append([one]);
    await settled();
    expect(source.reads).toEqual([]);
    expect(versions(subscription.take())).toEqual(versions(events(1, BUFFER_EVENTS)));
    await settled();
    // The consumer is busy with the events that it took.
    expect(source.reads).toEqual([]);
    expect(subscription.take()).toEqual([]);
    await settled();
    expect(versions(subscription.take())).toEqual(versions(events(BUFFER_EVENTS + 1, BUFFER_EVENTS + 100)));
    expect(source.reads).toHaveLength(1);
    subscription.close();
  });

  it('delivers and reads nothing after it is closed', async () => {
    const source = new FakeSource();
    const { subscription, received } = subscribe(source);
    subscription.start(0);
    source.announce(9);
    subscription.close();
    source.log.push(...events(1, 9));
    source.append(events(10, 10));
    await settled();
    expect(received).toEqual([]);
    expect(source.reads).toHaveLength(1);
  });
});

describe('followTask', () => {
  it('reads an announced event that is not in the log a few times per second and no more', async () => {
    const source = new FakeSource();
    const fourth = source.untilReads(4);
    const stop = new AbortController();
    const began = performance.now();
    const next = followTask(source, { ...TASK, after: 3 }, stop.signal).next();
    source.announce(4);
    await fourth;
    stop.abort();
    // The first read came before the announcement. Three more follow, with a pause after each but the last.
    expect(performance.now() - began).toBeGreaterThan(300);
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('throws when the log cannot be read', async () => {
    const source = new FakeSource();
    source.onRead = () => {
      throw new Error('Connection terminated unexpectedly');
    };
    const following = followTask(source, { ...TASK, after: 3 }, new AbortController().signal);
    await expect(following.next()).rejects.toThrow('Connection terminated unexpectedly');
  });
});

describe('TaskFollower', () => {
  const head = {
    state: evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!,
    hash: Buffer.alloc(32),
    key: null,
  };

  it('reads an announced event that is not in the log a few times per second and no more', async () => {
    const source = new FakeSource();
    const third = source.untilReads(3);
    const follower = new TaskFollower(source, TASK.tenantId, TASK.taskId);
    const began = performance.now();
    follower.startAt({ head, events: [] });
    source.announce(99);
    await third;
    follower.close();
    expect(performance.now() - began).toBeGreaterThan(300);
  });

  it('folds the events of another process and needs no further read for the view', async () => {
    const source = new FakeSource();
    const follower = new TaskFollower(source, TASK.tenantId, TASK.taskId);
    follower.startAt({ head, events: recorded(SUBMITTED, TIME) });
    const outcome = follower.untilOutcome();
    source.log.push(...recorded([{ type: 'TaskCanceled', facts: { reason: 'idle' } }], TIME, 3));
    source.announce(3);
    expect((await outcome).status).toBe('canceled');
    expect(await follower.view()).toMatchObject({ state: { version: 3, status: 'canceled' }, taskId: TASK.taskId });
    expect(source.reads).toHaveLength(1);
  });
});
