const card = (name) => ({
  name,
  description: `The agent ${name}`,
  version: '1.0.0',
  skills: [{ id: name, name, description: `does what ${name} does`, tags: ['test'] }],
});
let running = 0;
let maxRunning = 0;

export default [
  /** Returns its text with a prefix. */
  { ...card('plain'), run: (ctx) => ctx.artifact({ parts: [{ text: `plain: ${ctx.text}` }] }) },
  /** Returns the maximum number of its concurrent runs, which its concurrency limits to 1. */
  {
    ...card('narrow'),
    concurrency: 1,
    async run(ctx) {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await new Promise((resolve) => setTimeout(resolve, 50));
      running -= 1;
      await ctx.artifact({ parts: [{ text: `at most ${maxRunning}` }] });
    },
  },
  /** Fails its first two attempts, or every attempt for the text `always`. The error is not retryable for the text `never`. */
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
  /** Requires an authorization, and then returns all messages of the task. */
  {
    ...card('bank'),
    async run(ctx) {
      if (ctx.history.length === 0) return ctx.requireAuth('Sign in at the bank.');
      const messages = [...ctx.history, ctx.message].map(({ role, parts }) => `${role}: ${parts[0].text}`);
      await ctx.artifact({ parts: [{ text: messages.join('\n') }] });
    },
  },
];
