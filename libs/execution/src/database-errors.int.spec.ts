import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Acta, type Replica } from '../../../test/support/acta.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';
import { aMember } from '../../../test/support/tasks.js';

const alice = aMember('alice');
const agent = new ScriptedAgent();
let acta: Acta;
let replica: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agents: [agent.definition] });
});
afterAll(() => acta?.close());

/** Errors that a database reports for no fault of the agent, and how they end. */
const ERRORS = [
  [
    'a constraint that somebody added',
    `alter table artifact_chunk add constraint added check (artifact_id <> 'a') not valid`,
    'alter table artifact_chunk drop constraint added',
  ],
  [
    'a trigger that somebody added',
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
     create trigger added before insert on artifact_chunk for each row execute function refuse()`,
    'drop trigger added on artifact_chunk; drop function refuse()',
  ],
  [
    'a right that somebody revoked',
    'revoke insert on artifact_chunk from ROLE',
    'grant insert on artifact_chunk to ROLE',
  ],
  [
    'a column that somebody added',
    `alter table artifact_chunk add column added text not null default ''; alter table artifact_chunk alter added drop default`,
    'alter table artifact_chunk drop column added',
  ],
] as const;

describe('A database error that a run cannot have caused', () => {
  it.each(ERRORS)('retries the run without using an attempt, and fails no task: %s', async (_name, cause, remedy) => {
    const run = (statement: string) => acta.sql(statement.replace('ROLE', acta.role));
    agent.on(cause, async (ctx) => {
      await ctx.artifact({ id: 'a', parts: [{ text: 'a' }] });
    });
    await run(cause);
    const taskId = await replica.submit(alice, cause);
    const events = () => replica.events(alice.tenantId, taskId);
    await replica.until(alice.tenantId, taskId, (state) => state.run?.outcome === 'lost');
    await run(remedy);
    const ended = await replica.until(alice.tenantId, taskId, (state) => state.status === 'completed');
    expect(ended.attempts).toBe(1);
    // Reported with its cause, so that an operator sees it.
    expect(replica.errors.splice(0)).toHaveLength(1);
    expect((await events()).filter(({ type }) => type === 'RunLost')[0]!.facts).toMatchObject({
      reason: 'database-error',
      cause: expect.stringMatching(/^the database reported \w{5}$/),
    });
    expect((await events()).filter(({ type }) => type === 'RunRetried')[0]!.facts).toMatchObject({ counted: false });
  });
});
