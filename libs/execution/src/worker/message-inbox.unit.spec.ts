import { expect, it } from '@jest/globals';
import { type RecordedEvent, textOf } from '@app/domain';
import type { TaskChange } from '@app/storage';
import { Subject } from 'rxjs';
import { aMessage } from '../../../../test/support/tasks.js';
import { MessageInbox } from './message-inbox.js';

type Services = ConstructorParameters<typeof MessageInbox>[0];

const deaf = { canceled: () => undefined, taken: () => undefined, read: () => undefined };

const joined = (text: string, version: number): RecordedEvent => {
  const message = aMessage(text);
  return {
    type: 'MessageAccepted',
    facts: { messageId: message.messageId, parts: 1, bytes: 10 },
    content: { message },
    version,
    recordedAt: '2026-01-01T00:00:00.000Z',
  };
};

it('reads again what another process announced while the database was away', async () => {
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 1) throw new Error('Connection terminated unexpectedly');
    return [joined('from elsewhere', 4)];
  };
  const changes = new Subject<TaskChange>();
  const services = { reader: { events: read }, streams: { wakeups: { changes: () => changes } } } as unknown as Services;
  const inbox = new MessageInbox(services, 'acme', 'task-1', 3, deaf);
  const next = inbox.messages(new AbortController().signal).next();
  changes.next({ tenantId: 'acme', taskId: 'task-1', version: 4 });
  expect(textOf((await next).value!)).toBe('from elsewhere');
  expect(reads).toBe(2);
  inbox.close();
});

it('wakes each of several readers, gives each message to one of them, and ends them all', async () => {
  const changes = new Subject<TaskChange>();
  const services = { streams: { wakeups: { changes: () => changes } } } as unknown as Services;
  const inbox = new MessageInbox(services, 'acme', 'task-1', 3, deaf);
  const { signal } = new AbortController();
  const heard: string[][] = [[], []];
  const readers = heard.map(async (texts) => {
    for await (const message of inbox.messages(signal)) texts.push(textOf(message));
  });
  // Both wait by now.
  await new Promise(setImmediate);
  const events = [joined('one', 4), joined('two', 5)];
  changes.next({ tenantId: 'acme', taskId: 'task-1', version: 5, events });
  await new Promise(setImmediate);
  expect(heard).toEqual([['one'], ['two']]);
  inbox.close();
  await Promise.all(readers);
});
