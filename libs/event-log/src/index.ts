export type { Append, AppendResult, ReadModelRows, Receipt } from './append.js';
export { EventLog } from './event-log.js';
export { EVENT_COLUMNS, FACTS_COLUMNS } from './event-log.statements.js';
export { FEED_START, type FeedCursor, readFeed } from './feed.js';
export { eventHash, GENESIS_HASH, isKnownHashVersion, packAppendColumns } from './hash-chain.js';
