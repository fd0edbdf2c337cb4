import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Message } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
/** With characters that JSON escapes, so that its escaped form differs. */
const MARKER = 'marker "é\\\u2028 4f1d';

/** The marker as it is and as a column could hold it. */
const forms = (text: string): string[] => {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const buffer = Buffer.from(text);
  // Base64 of a text that stands at any of the three offsets in what is encoded.
  const base64 = [0, 1, 2].map((at) =>
    Buffer.concat([Buffer.alloc(at), buffer])
      .toString('base64')
      .slice(at === 0 ? 0 : 4, -4),
  );
  return [text, json, ascii, buffer.toString('hex'), Buffer.from(json).toString('hex'), ...base64];
};

const said = (where: string) => `${MARKER} ${where}`;
const everything = (where: string) => ({
  parts: [
    { text: said(where), filename: said(`${where} filename`), metadata: { [said('key')]: said('part metadata') } },
    { data: { nested: [said(`${where} data`)] } },
    { raw: Buffer.from(said(where)).toString('base64'), mediaType: 'text/plain' },
    { url: `https://example.com/${encodeURIComponent(said(where))}` },
  ],
  metadata: { note: said(`${where} metadata`) },
});

const agent = new ScriptedAgent();
let acta: Acta;
let replica: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agents: [agent.definition] });
});
afterAll(() => acta?.close());

/** A task that says the marker wherever anything can be said. */
async function conversation(): Promise<string[]> {
  const message: Message = { messageId: 'm1', role: 'user', ...everything('message') };
  const gate = new Latch();
  agent.on(said('message'), async (ctx) => {
    if (ctx.history.length > 0) {
      await ctx.artifact({ name: said('name'), description: said('description'), ...everything('artifact') });
      await ctx.artifact({ parts: [{ text: said('chunk') }] });
      await gate.opened;
      return ctx.complete(everything('completion'));
    }
    await ctx.working(everything('status'));
    await ctx.requireInput(everything('question'));
  });
  agent.on(said('fails'), () => {
    throw new Error(said('error'));
  });
  agent.on(said('replies'), (ctx) => ctx.reply(everything('reply')));
  const { taskId } = await replica.ask(alice, message);
  const answer: Message = { messageId: 'm2', role: 'user', ...everything('answer') };
  const { follower } = await replica.send(alice, answer, { taskId });
  await replica.until(alice.tenantId, taskId, (state) => (state.run?.artifacts.length ?? 0) > 0);
  gate.open();
  await follower.untilOutcome();
  const others = ['fails', 'replies'].map((text, n) => ({
    messageId: `other ${n}`,
    role: 'user' as const,
    parts: [{ text: said(text) }],
  }));
  const views = await Promise.all(others.map((other) => replica.ask(alice, other)));
  return [taskId, ...views.map((view) => view.taskId)];
}

describe('what a message or an artifact said', () => {
  it('is in the encrypted content of events, and nowhere else in the database', async () => {
    const taskIds = await conversation();
    const view = await replica.get(alice, taskIds[0]!);
    expect(JSON.stringify(view)).toContain(JSON.stringify(said('chunk')).slice(1, -1));
    const tables = await acta.sql<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
    );
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['event', 'task', 'message', 'run_queue']));
    for (const { name } of tables) {
      const rows = await acta.sql<{ row: string }>(`select t::text as row from ${name} t`);
      if (name === 'event') expect(rows.length).toBeGreaterThan(10);
      const dump = rows.map(({ row }) => row).join('\n');
      // Quotes and backslashes are doubled in the text of a row.
      const plain = dump.replaceAll('""', '"').replaceAll('\\\\', '\\');
      for (const form of forms(MARKER)) {
        expect({ name, found: dump.includes(form) || plain.includes(form) }).toEqual({ name, found: false });
      }
    }
  });

  it('would be found where it is not to be, by this search', async () => {
    await acta.sql(
      'create table leak as select $1::text as text, convert_to($1, $2) as bytes, to_json($1::text) as json',
      [`before ${MARKER} after`, 'UTF8'],
    );
    const [{ row }] = (await acta.sql<{ row: string }>('select t::text as row from leak t')) as [{ row: string }];
    const plain = row.replaceAll('""', '"').replaceAll('\\\\', '\\');
    const [text, json, , hex] = forms(MARKER);
    for (const form of [text!, json!, hex!]) expect(plain).toContain(form);
    for (const lead of ['', 'x', 'xy']) {
      const encoded = Buffer.from(`${lead}${MARKER}`).toString('base64');
      expect(
        forms(MARKER)
          .slice(5)
          .some((form) => encoded.includes(form)),
      ).toBe(true);
    }
    await acta.sql('drop table leak');
  });
});
