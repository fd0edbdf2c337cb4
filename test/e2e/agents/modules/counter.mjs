import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Counts aloud, one status each: `count 5`, `every 20 ms`, each padded to `size 1000`; then `ask`s, or completes with an
 * artifact. The message that answers its question is counted for as well.
 */
export default {
  name: 'counter',
  description: 'Counts aloud',
  version: '1.0.0',
  skills: [{ id: 'count', name: 'Count', description: 'Counts aloud', tags: ['test'] }],
  async run(ctx) {
    const number = (pattern) => Number(pattern.exec(ctx.text)?.[1] ?? 0);
    const [count, every, size] = [number(/count (\d+)/), number(/every (\d+)/), number(/size (\d+)/)];
    if (ctx.text.includes('reply')) return ctx.reply('counted nothing');
    for (let n = 1; n <= count; n += 1) {
      await ctx.working(`${n} `.padEnd(size, '.'));
      if (every > 0) await sleep(every, undefined, { signal: ctx.signal });
    }
    if (ctx.text.includes('ask')) return ctx.requireInput('On?');
    await ctx.artifact({ parts: [{ text: `counted to ${count}` }] });
  },
};
