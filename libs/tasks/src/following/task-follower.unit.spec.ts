import { expect, it } from '@jest/globals';
import { evolveAll } from '@app/domain';
import type { StreamHead, TaskChange } from '@app/storage';
import { Subject } from 'rxjs';
import { SUBMITTED } from '../../../../test/support/tasks.js';
import { TaskFollower } from './task-follower.js';
import type { TaskReader } from '../queries/task-reader.js';
import type { TaskWriter } from '../commands/task-writer.js';

it('asks a few times a second, and no more, for what was announced and is not there', async () => {
  const head: StreamHead = {
    state: evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!,
    hash: Buffer.alloc(32),
    key: null,
  };
  let reads = 0;
  let enough = () => {};
  const third = new Promise<void>((resolve) => (enough = resolve));
  const read = async () => {
    reads += 1;
    if (reads === 3) enough();
    return { head, receipt: null };
  };
  const changes = new Subject<TaskChange>();
  const streams = { head: read, wakeups: { changes: () => changes } } as unknown as TaskWriter;
  const follower = new TaskFollower(streams, {} as TaskReader, 'acme', 'lost');
  const began = performance.now();
  follower.startAt({ head, events: [] });
  changes.next({ tenantId: 'acme', taskId: 'lost', version: 99 });
  await third;
  follower.close();
  expect(performance.now() - began).toBeGreaterThan(300);
});
