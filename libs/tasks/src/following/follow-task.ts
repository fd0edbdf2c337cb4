import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedEvent } from '@app/domain';
import type { TaskWakeups } from '@app/storage';
import type { TaskReader } from '../queries/task-reader.js';

const PAGE = 200;
/** Events kept in memory for one reader; a reader that is further behind reads the log instead. */
const BUFFERED = 256;
const REREAD_MS = 200;

/**
 * Every event of one task after `after`, once and in order, for as long as the consumer asks. It listens before it reads,
 * so nothing falls between; a consumer that is slow costs a bounded buffer, and goes on from the log.
 */
export async function* followTask(
  { reader, wakeups }: { reader: Pick<TaskReader, 'events'>; wakeups: TaskWakeups },
  { tenantId, taskId, after }: { tenantId: string; taskId: string; after: number },
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  let last = after;
  // The log may already be further than `after`: look before the first wait.
  let looked = false;
  let announced = 0;
  let buffer: RecordedEvent[] = [];
  let wake: (() => void) | null = null;
  const rouse = () => {
    wake?.();
    wake = null;
  };
  const subscription = wakeups.changes(tenantId, taskId).subscribe(({ version, events }) => {
    announced = Math.max(announced, version);
    const end = buffer.at(-1)?.version ?? last;
    if (events !== undefined && events[0]!.version === end + 1 && buffer.length + events.length <= BUFFERED) {
      buffer.push(...events);
    }
    rouse();
  });
  signal.addEventListener('abort', rouse);
  try {
    while (!signal.aborted) {
      if (buffer.length > 0 && buffer[0]!.version <= last + 1) {
        const events = buffer.filter((event) => event.version > last);
        buffer = [];
        if (events.length > 0) {
          last = events.at(-1)!.version;
          yield events;
          continue;
        }
      }
      if (!looked || announced > last) {
        const asked = announced;
        const events = await reader.events(tenantId, taskId, last, PAGE);
        // What was announced meanwhile still counts: it may be later than what this read has seen.
        looked ||= events.length < PAGE;
        if (events.length > 0) {
          last = events.at(-1)!.version;
          yield events;
        } else if (asked > last) {
          // Announced and not there: a failover can lose what was committed.
          await sleep(REREAD_MS, undefined, { signal }).catch(() => undefined);
        }
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal.aborted) rouse();
      });
    }
  } finally {
    signal.removeEventListener('abort', rouse);
    subscription.unsubscribe();
  }
}
