import { setTimeout as sleep } from 'node:timers/promises';

const skills = [{ id: 'bench', name: 'Bench', description: 'For measuring', tags: ['bench'] }];
const described = { description: 'For measuring', version: '1.0.0', skills };

/** Agents that say when they did what, on the clock of this machine. */
export default [
  {
    name: 'ticker',
    ...described,
    // Ten events, one a second.
    async run(/** @type {any} */ ctx) {
      for (let tick = 1; tick <= 10; tick += 1) {
        await sleep(1_000, undefined, { signal: ctx.signal });
        await ctx.working(`tick ${tick}`);
      }
    },
  },
  {
    name: 'starter',
    ...described,
    async run(/** @type {any} */ ctx) {
      await ctx.complete(`entered ${Date.now()}`);
    },
  },
  {
    name: 'sleeper',
    ...described,
    // Longer than anyone waits for it here.
    async run(/** @type {any} */ ctx) {
      await sleep(600_000, undefined, { signal: ctx.signal });
    },
  },
  {
    name: 'talker',
    ...described,
    // 50 tokens a second for five seconds, each with the time at which it was said.
    async run(/** @type {any} */ ctx) {
      const start = Date.now();
      for (let token = 0; token < 250; token += 1) {
        await sleep(Math.max(0, start + token * 20 - Date.now()), undefined, { signal: ctx.signal });
        await ctx.artifact({ id: 'talk', parts: [{ text: `${Date.now()} ` }] });
      }
    },
  },
];
