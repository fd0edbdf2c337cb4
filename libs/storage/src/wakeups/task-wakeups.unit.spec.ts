import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Database } from '../postgres/database.js';
import { TaskWakeups } from './task-wakeups.js';

let wakeups: TaskWakeups;
let logged: unknown[];
beforeEach(() => {
  logged = [];
  jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown) => void logged.push(line));
  wakeups = new TaskWakeups({} as Database);
});
afterEach(async () => {
  await wakeups.close();
  jest.restoreAllMocks();
});

describe('TaskWakeups', () => {
  it('logs the error of a subscriber and still notifies every subscriber of the next change', async () => {
    const task = { tenantId: 'acme', taskId: 'task-1' };
    const received: string[] = [];
    const throwing = (name: string) => () => {
      received.push(name);
      throw new Error(`thrown by ${name}`);
    };
    wakeups.changes(task.tenantId, task.taskId).subscribe(throwing('a change'));
    wakeups.changes(task.tenantId, task.taskId).subscribe(({ version }) => received.push(`version ${version}`));
    wakeups.queuedAgents.subscribe(throwing('a queued agent'));
    wakeups.webhookDeliveries.subscribe(throwing('a delivery'));
    for (const version of [1, 2]) {
      wakeups.publish({ ...task, version, queuedAgent: 'demo', hasWebhookDeliveries: true });
    }
    const once = (version: number) => ['a change', `version ${version}`, 'a queued agent', 'a delivery'];
    expect(received).toEqual([...once(1), ...once(2)]);
    // RxJS reports the errors in the next turn of the event loop.
    await sleep(0);
    expect(logged).toHaveLength(6);
    expect(logged[0]).toMatchObject({
      message: 'wake-up subscriber failed',
      stack: expect.stringContaining('thrown by a change'),
    });
  });
});
