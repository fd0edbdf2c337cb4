import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Upper-cases its text, as `sleep 300ms` and `chunks 5 every 20ms` in it say; `ask` in it asks back. It never fails by
 * itself, and waits little between attempts: whatever a storm does to it, its tasks must come to their end.
 */
export default {
  name: 'storm',
  description: 'Upper-cases its text in its own time',
  version: '1.0.0',
  skills: [{ id: 'upper-case', name: 'Upper-case', description: 'Gives the text back in capitals', tags: ['test'] }],
  retry: { attempts: 50, backoffMs: 20 },
  async run(ctx) {
    const { text, signal } = ctx;
    if (/\bask\b/.test(text)) return ctx.requireInput('What then?');
    const nap = /\bsleep (\d+)ms/.exec(text)?.[1];
    if (nap !== undefined) {
      await ctx.working('sleeping');
      await sleep(Number(nap), undefined, { signal });
    }
    const [, count = '1', every = '0'] = /\bchunks (\d+) every (\d+)ms/.exec(text) ?? [];
    const answer = text.toUpperCase();
    const size = Math.ceil(answer.length / Number(count));
    for (let at = 0; at < answer.length; at += size) {
      if (at > 0) await sleep(Number(every), undefined, { signal });
      const last = at + size >= answer.length;
      await ctx.artifact({ id: 'answer', parts: [{ text: answer.slice(at, at + size) }], last });
    }
  },
};
