import type { Migration } from 'kysely';
import * as eventLog from './0001-event-log.js';
import * as readModels from './0002-read-models.js';
import * as appendEvents from './0003-append-events.js';
import * as access from './0004-access.js';
import * as push from './0005-push.js';

/**
 * All migrations, in order and forward only. The map is static, so that the same code runs from source and from `dist`.
 */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-event-log': eventLog,
  '0002-read-models': readModels,
  '0003-append-events': appendEvents,
  '0004-access': access,
  '0005-push': push,
};
