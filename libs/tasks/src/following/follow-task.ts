import type { RecordedEvent } from '@app/domain';
import { CatchUpSubscription, type TaskEventSource } from './catch-up-subscription.js';

/**
 * Yields every event of one task after `after`, once and in order, until the signal aborts. Throws when the database
 * cannot be read.
 */
export async function* followTask(
  source: TaskEventSource,
  { tenantId, taskId, after }: { readonly tenantId: string; readonly taskId: string; readonly after: number },
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  let wake = () => {};
  let fail: (error: unknown) => void = () => {};
  const subscription = new CatchUpSubscription(source, tenantId, taskId, {
    onEvents: () => wake(),
    onError: (error) => fail(error),
  });
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  try {
    subscription.start(after, { readFirst: true });
    while (!signal.aborted) {
      const events = subscription.take();
      if (events.length > 0) {
        yield events;
        continue;
      }
      await new Promise<void>((resolve, reject) => {
        wake = resolve;
        fail = reject;
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    subscription.close();
  }
}
