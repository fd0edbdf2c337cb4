import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Reports the numbers from 1 as statuses. The text of the message sets how many (`count 5`), the pause after each in
 * milliseconds (`every 20`) and the length to which each is padded (`size 1000`). With `ask` the agent then requires input,
 * and counts again for the next message; otherwise it completes with an artifact. With `reply` it only returns a message.
 */
export default {
  name: 'counter',
  description: 'Counts to a number',
  version: '1.0.0',
  skills: [{ id: 'count', name: 'Count', description: 'Counts to a number', tags: ['test'] }],
  async run(ctx) {
    const number = (pattern) => Number(pattern.exec(ctx.text)?.[1] ?? 0);
    const [count, every, size] = [number(/count (\d+)/), number(/every (\d+)/), number(/size (\d+)/)];
    if (ctx.text.includes('reply')) return ctx.reply('counted nothing');
    for (let n = 1; n <= count; n += 1) {
      await ctx.working(`${n} `.padEnd(size, '.'));
      if (every > 0) await sleep(every, undefined, { signal: ctx.signal });
    }
    if (ctx.text.includes('ask')) return ctx.requireInput('Continue?');
    await ctx.artifact({ parts: [{ text: `counted to ${count}` }] });
  },
};
