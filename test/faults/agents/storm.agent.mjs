import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Returns its text in upper case. In the text, `sleep 300ms` and `chunks 5 every 20ms` control the timing, and `ask` requires
 * input. The agent never fails and has many attempts, so that every task of a storm must reach a final state.
 */
export default {
  name: 'storm',
  description: 'Returns its text in upper case, with delays',
  version: '1.0.0',
  skills: [{ id: 'upper-case', name: 'Upper-case', description: 'Returns the text in upper case', tags: ['test'] }],
  retry: { attempts: 50, backoffMs: 20 },
  async run(ctx) {
    const { text, signal } = ctx;
    if (/\bask\b/.test(text)) return ctx.requireInput('Which text?');
    const sleepMs = /\bsleep (\d+)ms/.exec(text)?.[1];
    if (sleepMs !== undefined) {
      await ctx.working('sleeping');
      await sleep(Number(sleepMs), undefined, { signal });
    }
    const [, count = '1', every = '0'] = /\bchunks (\d+) every (\d+)ms/.exec(text) ?? [];
    const result = text.toUpperCase();
    const size = Math.ceil(result.length / Number(count));
    for (let offset = 0; offset < result.length; offset += size) {
      if (offset > 0) await sleep(Number(every), undefined, { signal });
      const last = offset + size >= result.length;
      await ctx.artifact({ id: 'result', parts: [{ text: result.slice(offset, offset + size) }], last });
    }
  },
};
