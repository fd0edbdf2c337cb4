import { setTimeout as sleep } from 'node:timers/promises';

const skills = [{ id: 'bench', name: 'Bench', description: 'Used by the bench', tags: ['bench'] }];
const described = { description: 'Used by the bench', version: '1.0.0', skills };

/** Agents for the bench. Their output contains times of this machine's clock, in milliseconds since the epoch. */
export default [
  {
    name: 'ticker',
    ...described,
    // 10 events, 1 per second.
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
    name: 'publisher',
    ...described,
    // As many artifacts as the message says.
    async run(/** @type {any} */ ctx) {
      const ids = Array.from({ length: Number(ctx.text) }, (_, nth) => `artifact-${nth}`);
      await Promise.all(ids.map((id) => ctx.artifact({ id, parts: [{ text: id }] })));
    },
  },
  {
    name: 'sleeper',
    ...described,
    // Longer than any phase of the bench.
    async run(/** @type {any} */ ctx) {
      await sleep(600_000, undefined, { signal: ctx.signal });
    },
  },
  {
    name: 'tokens',
    ...described,
    // 50 tokens per second for 5 s. Each token is the time at which it was written.
    async run(/** @type {any} */ ctx) {
      const start = Date.now();
      for (let token = 0; token < 250; token += 1) {
        await sleep(Math.max(0, start + token * 20 - Date.now()), undefined, { signal: ctx.signal });
        await ctx.artifact({ id: 'tokens', parts: [{ text: `${Date.now()} ` }] });
      }
    },
  },
];
