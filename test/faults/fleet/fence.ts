import pg from 'pg';

const CONDITION = 'if p_fence_run is not null and (';

/**
 * Removes the fence from the append statement of one database. The checks of `decide` and of the expected version remain, so
 * the only writes that get through have an expired lease on a run that is still the current one. The suite must detect them.
 */
export async function removeFence(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ definition: string }>(
      `select pg_get_functiondef('append_events'::regproc) as definition`,
    );
    const { definition } = rows[0]!;
    if (!definition.includes(CONDITION))
      throw new Error(`append_events does not contain "${CONDITION}"; update CONDITION in fence.ts`);
    await client.query(definition.replace(CONDITION, 'if false and ('));
  } finally {
    await client.end();
  }
}
