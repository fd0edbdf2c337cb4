import { expect, it } from '@jest/globals';
import type { TaskChange, TaskWakeups } from '@app/storage';
import { Subject } from 'rxjs';
import { followTask } from './follow-task.js';

it('asks a few times a second, and no more, for what was announced and is not there', async () => {
  let reads = 0;
  let enough = () => {};
  const fourth = new Promise<void>((resolve) => (enough = resolve));
  const read = async () => {
    reads += 1;
    if (reads === 4) enough();
    return [];
  };
  const changes = new Subject<TaskChange>();
  const source = {
    reader: { events: read },
    wakeups: { changes: () => changes } as unknown as TaskWakeups,
  };
  const stop = new AbortController();
  const began = performance.now();
  const following = followTask(source, { tenantId: 'acme', taskId: 'lost', after: 3 }, stop.signal).next();
  changes.next({ tenantId: 'acme', taskId: 'lost', version: 4 });
  await fourth;
  stop.abort();
  // The first read came before the announcement: three more, with a pause after each but the last.
  expect(performance.now() - began).toBeGreaterThan(300);
  expect(await following).toEqual({ done: true, value: undefined });
});
