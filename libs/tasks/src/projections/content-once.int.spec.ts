import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Message } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
/** With characters that JSON escapes, so that its escaped form differs. */
const MARKER = 'marker "é\\\u2028 4f1d';

/** Returns the marker and the encodings in which a column could contain it. */
const forms = (text: string): string[] => {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const buffer = Buffer.from(text);
  // Base64 of a text at each of the three possible offsets.
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), buffer])
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  );
  return [text, json, ascii, buffer.toString('hex'), Buffer.from(json).toString('hex'), ...base64];
};

const marked = (where: string) => `${MARKER} ${where}`;
const markedContent = (where: string) => ({
  parts: [
    {
      text: marked(where),
      filename: marked(`${where} filename`),
      metadata: { [marked('key')]: marked('part metadata') },
    },
    { data: { nested: [marked(`${where} data`)] } },
    { raw: Buffer.from(marked(where)).toString('base64'), mediaType: 'text/plain' },
    { url: `https://example.com/${encodeURIComponent(marked(where))}` },
  ],
  metadata: { note: marked(`${where} metadata`) },
});

const agent = new ScriptedAgent();
let acta: Acta;
let replica: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agents: [agent.definition] });
});
afterAll(() => acta?.close());

/** Creates tasks that have the marker in every field of their messages and artifacts. Returns their ids. */
async function createTasks(): Promise<string[]> {
  const message: Message = { messageId: 'm1', role: 'user', ...markedContent('message') };
  const latch = new Latch();
  agent.on(marked('message'), async (ctx) => {
    if (ctx.history.length > 0) {
      await ctx.artifact({ name: marked('name'), description: marked('description'), ...markedContent('artifact') });
      await ctx.artifact({ parts: [{ text: marked('chunk') }] });
      await latch.opened;
      return ctx.complete(markedContent('completion'));
    }
    await ctx.working(markedContent('status'));
    await ctx.requireInput(markedContent('question'));
  });
  agent.on(marked('fails'), () => {
    throw new Error(marked('error'));
  });
  agent.on(marked('replies'), (ctx) => ctx.reply(markedContent('reply')));
  const { taskId } = await replica.sendAndWait(alice, message);
  const reply: Message = { messageId: 'm2', role: 'user', ...markedContent('answer') };
  const { follower } = await replica.send(alice, reply, { taskId });
  await replica.until(alice.tenantId, taskId, (state) => (state.run?.artifacts.length ?? 0) > 0);
  latch.open();
  await follower.untilOutcome();
  const others = ['fails', 'replies'].map((text, n) => ({
    messageId: `other ${n}`,
    role: 'user' as const,
    parts: [{ text: marked(text) }],
  }));
  const views = await Promise.all(others.map((other) => replica.sendAndWait(alice, other)));
  return [taskId, ...views.map((view) => view.taskId)];
}

describe('The content of messages and artifacts', () => {
  it('is stored in the encrypted content of events and in no other column', async () => {
    const taskIds = await createTasks();
    const view = await replica.get(alice, taskIds[0]!);
    expect(JSON.stringify(view)).toContain(JSON.stringify(marked('chunk')).slice(1, -1));
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

  it('is found by this search if a column contains it', async () => {
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
