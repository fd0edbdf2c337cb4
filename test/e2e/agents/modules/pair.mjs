/** Two agents in one module: one after the other, and one that takes a single run at a time and counts how many it has. */
const card = (name) => ({
  name,
  description: `The agent ${name}`,
  version: '1.0.0',
  skills: [{ id: name, name, description: `does what ${name} does`, tags: ['test'] }],
});
let narrow = 0;
let most = 0;

export default [
  { ...card('plain'), run: (ctx) => ctx.artifact({ parts: [{ text: `plain: ${ctx.text}` }] }) },
  {
    ...card('narrow'),
    concurrency: 1,
    async run(ctx) {
      narrow += 1;
      most = Math.max(most, narrow);
      await new Promise((resolve) => setTimeout(resolve, 50));
      narrow -= 1;
      await ctx.artifact({ parts: [{ text: `at most ${most}` }] });
    },
  },
  {
    ...card('flaky'),
    retry: { attempts: 3, backoffMs: 40 },
    run(ctx) {
      if (ctx.text === 'always' || ctx.attempt < 3) {
        throw Object.assign(new Error('the line is busy'), { retryable: ctx.text !== 'never' });
      }
      return ctx.complete(`attempt ${ctx.attempt}`);
    },
  },
  {
    ...card('bank'),
    async run(ctx) {
      if (ctx.history.length === 0) return ctx.requireAuth('Sign in at the bank.');
      const said = [...ctx.history, ctx.message].map(({ role, parts }) => `${role}: ${parts[0].text}`);
      await ctx.artifact({ parts: [{ text: said.join('\n') }] });
    },
  },
];
