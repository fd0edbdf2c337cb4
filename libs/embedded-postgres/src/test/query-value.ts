import pg from 'pg';

/** Runs one statement on a connection of its own, and returns the column `value` of its first row. */
export async function queryValue(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ value: unknown }>(sql).finally(() => client.end());
  return rows[0]?.value;
}
