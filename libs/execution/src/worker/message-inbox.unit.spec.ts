import { describe, expect, it } from '@jest/globals';
import { type RecordedEvent, textOf } from '@app/domain';
import type { TaskChange } from '@app/storage';
import type { TaskEventSource } from '@app/tasks';
import { Subject } from 'rxjs';
import { aMessage, REQUEST } from '../../../../test/support/tasks.js';
import { MessageInbox } from './message-inbox.js';

const TASK = { tenantId: 'acme', taskId: 'task-1' };
const ignored = { onCancelRequested: () => undefined, onRunLost: () => undefined, onMessageRead: () => undefined };

const accepted = (text: string, version: number): RecordedEvent => {
  const message = aMessage(text);
  return {
    type: 'MessageAccepted',
    facts: { messageId: message.messageId, parts: 1, bytes: 10, request: REQUEST },
    content: { message },
    version,
    recordedAt: '2026-01-01T00:00:00.000Z',
    eventId: `event ${version}`,
  };
};

function inboxOf(events: TaskEventSource['reader']['events']) {
  const changes = new Subject<TaskChange>();
  const source = { reader: { events }, wakeups: { changes: () => changes } };
  return { changes, inbox: new MessageInbox(source, { ...TASK, version: 3 }, ignored) };
}

describe('MessageInbox', () => {
  it('repeats the read of what another process announced until the database responds', async () => {
    let reads = 0;
    const { changes, inbox } = inboxOf(async () => {
      reads += 1;
      if (reads === 1) throw new Error('Connection terminated unexpectedly');
      return [accepted('from another process', 4)];
    });
    const next = inbox.queue.arrivals(new AbortController().signal).next();
    changes.next({ ...TASK, version: 4 });
    expect(textOf((await next).value!.message)).toBe('from another process');
    expect(reads).toBe(2);
    inbox.close();
  });

  it('wakes each of several readers, gives each message to one of them, and ends them all when it closes', async () => {
    const { changes, inbox } = inboxOf(async () => []);
    const { signal } = new AbortController();
    const received: string[][] = [[], []];
    const readers = received.map(async (texts) => {
      for await (const { message } of inbox.queue.arrivals(signal)) texts.push(textOf(message));
    });
    // Both wait by now.
    await new Promise(setImmediate);
    changes.next({ ...TASK, version: 5, events: [accepted('one', 4), accepted('two', 5)] });
    await new Promise(setImmediate);
    expect(received).toEqual([['one'], ['two']]);
    inbox.close();
    await Promise.all(readers);
  });
});
