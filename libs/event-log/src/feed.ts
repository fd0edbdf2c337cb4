import type { Database } from '@app/storage';
import { READ_FEED } from './event-log.statements.js';
import type { StoredEvent } from '@app/storage';

/** How far a reader of the feed has come. The strings are a 64-bit transaction id and position. */
export interface FeedCursor {
  readonly epoch: number;
  readonly transactionId: string;
  readonly position: string;
}

export const FEED_START: FeedCursor = { epoch: 0, transactionId: '0', position: '0' };

/** The one gap-safe read of all committed events of all streams. Nothing that a client waits for may depend on it. */
export async function readFeed(
  database: Database,
  after: FeedCursor,
  limit: number,
): Promise<{ events: StoredEvent[]; cursor: FeedCursor }> {
  const events = await database.run<StoredEvent>(READ_FEED, [
    after.epoch,
    after.transactionId,
    after.position,
    database.epoch,
    limit,
  ]);
  const last = events.at(-1);
  const cursor =
    last === undefined ? after : { epoch: last.epoch, transactionId: last.transaction_id, position: last.position };
  return { events, cursor };
}
