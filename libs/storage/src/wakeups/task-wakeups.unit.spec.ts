import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Database } from '../postgres/database.js';
import { TaskWakeups } from './task-wakeups.js';

let wakeups: TaskWakeups;
let logged: unknown[];
beforeEach(() => {
  logged = [];
  jest.spyOn(Logger.prototype, 'error').mockImplementation((said: unknown) => void logged.push(said));
  wakeups = new TaskWakeups({} as Database);
});
afterEach(async () => {
  await wakeups.close();
  jest.restoreAllMocks();
});

it('logs what a subscriber throws, and goes on telling it and all others', async () => {
  const task = { tenantId: 'acme', taskId: 'task-1' };
  const heard: string[] = [];
  const throwing = (name: string) => () => {
    heard.push(name);
    throw new Error(`thrown by ${name}`);
  };
  wakeups.changes(task.tenantId, task.taskId).subscribe(throwing('a change'));
  wakeups.changes(task.tenantId, task.taskId).subscribe(({ version }) => heard.push(`version ${version}`));
  wakeups.queued.subscribe(throwing('a queue'));
  wakeups.pushes.subscribe(throwing('a push'));
  for (const version of [1, 2]) wakeups.publish({ ...task, version, queuedFor: 'demo', pushes: true });
  const once = (version: number) => ['a change', `version ${version}`, 'a queue', 'a push'];
  expect(heard).toEqual([...once(1), ...once(2)]);
  // RxJS tells of it on the next turn.
  await sleep(0);
  expect(logged).toHaveLength(6);
  expect(logged[0]).toMatchObject({ stack: expect.stringContaining('thrown by a change') });
});
