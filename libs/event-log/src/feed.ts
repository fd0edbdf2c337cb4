import type { Database, StoredEvent } from '@app/storage';
import { READ_FEED } from './event-log.statements.js';

/** The position of a reader in the feed. The strings are a 64-bit transaction id and a 64-bit position. */
export interface FeedCursor {
  readonly epoch: number;
  readonly transactionId: string;
  readonly position: string;
}

export const FEED_START: FeedCursor = { epoch: 0, transactionId: '0', position: '0' };

/**
 * Returns at most `limit` committed events of all streams after a cursor, and the cursor of the last of them. It never
 * skips an event. A long transaction in the cluster delays it, so no response to a client may depend on it.
 */
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
