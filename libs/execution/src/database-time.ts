import type { Database, Executor, NamedStatement } from '@app/storage';

const TIME: NamedStatement = { name: 'database_time', text: 'select clock_timestamp() as now' };

/**
 * Now, in milliseconds, by the clock that will say when a retry is due. That of this process may be hours off: a retry would
 * come at once, or not for hours.
 */
export async function databaseTime(database: Database, executor?: Executor): Promise<number> {
  const [row] = await database.run<{ now: Date }>(TIME, [], executor);
  return row!.now.getTime();
}
