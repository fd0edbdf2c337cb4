/** What runs could not report themselves, because they had ended. The text `report` returns it. */
const notes = {};
const text = (message) => message.parts[0].text;
const errorOf = (promise) =>
  promise.then(
    () => 'no error',
    (error) => `${error.name}: ${error.message}`,
  );
const untilAborted = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
const circular = {};
circular.itself = circular;

/** What an agent can observe of `ctx`, by the first word of its text. */
const SCENARIOS = {
  facts: (ctx) => {
    const { task, message, history, metadata, request, attempt, lease, upstream, signal } = ctx;
    const requests = [...history, message].map((known) => ctx.requestOf(known)?.metadata ?? null);
    const { runId, worker, ...generations } = lease;
    const named = { runId: typeof runId, worker: typeof worker };
    const facts = { task, text: ctx.text, message, history, metadata, request, requests, attempt, generations, named };
    return ctx.complete([{ data: { ...facts, upstream, aborted: signal.aborted, reason: signal.reason ?? null } }]);
  },
  ask: (ctx) => ctx.requireInput('what?'),
  authorize: (ctx) => ctx.requireAuth({ parts: [{ text: 'who?' }], metadata: { a: 1 } }),
  fail: (ctx) => ctx.fail([{ text: 'no paper' }]),
  reject: (ctx) => ctx.reject('not supported'),
  reply: (ctx) => ctx.reply('just words'),
  nothing: () => undefined,
  throws: () => {
    throw new Error('out of ink');
  },
  'throws-text': () => {
    throw 'a text'; // oxlint-disable-line no-throw-literal
  },
  'throws-nothing': () => Promise.reject(new Error()),
  busy: (ctx) => {
    if (ctx.attempt < 3) throw Object.assign(new Error('busy'), { retryable: true });
    return ctx.complete(`attempt ${ctx.attempt}`);
  },
  continues: async (ctx) => {
    const ended = untilAborted(ctx.signal);
    await ctx.complete('the end');
    notes.working = await errorOf(ctx.working('not yet'));
    notes.fail = await errorOf(ctx.fail('too late'));
    void ended.then(() => (notes.ended = `${ctx.signal.reason.message}`));
    throw new Error('one more thing');
  },
  'awaits-nothing': async (ctx) => {
    void ctx.artifact({ parts: [{ data: 1n }] });
    void ctx.artifact({ parts: [{ text: 'kept' }] });
    void ctx.complete('the end');
    void ctx.working('not yet');
  },
  // A method and a wrong argument, as JSON: `calls requireInput`, `calls fail 5`.
  calls: (ctx) => {
    const [, method, argument] = text(ctx.message).split(' ');
    return ctx[method](argument === undefined ? undefined : JSON.parse(argument));
  },
  'no-parts': (ctx) => ctx.artifact({ parts: [] }),
  'no-parts-caught': (ctx) => {
    try {
      void ctx.artifact({ parts: [] });
      return ctx.complete('no error');
    } catch (error) {
      return ctx.complete(`${error.name}: ${error.message}`);
    }
  },
  'bad-id': async (ctx) => {
    await ctx.artifact({ id: 'nul \0', parts: [{ text: 'x' }] });
    await ctx.complete();
  },
  circular: async (ctx) => ctx.complete(await errorOf(ctx.artifact({ parts: [{ data: circular }] }))),
  'big-integer': (ctx) => ctx.artifact({ parts: [{ data: 1n }] }),
  artifacts: async (ctx) => {
    await ctx.artifact({ id: 'a', name: 'A', parts: [{ text: 'one ' }] });
    await ctx.artifact({ id: 'a', parts: [{ text: 'two' }] });
    await ctx.artifact({ id: 'b', parts: [{ text: 'old' }] });
    await ctx.artifact({ id: 'b', append: false, parts: [{ data: [1] }], last: true });
  },
  flood: async (ctx) => {
    for (let index = 0; index < 1_500; index += 1) void ctx.artifact({ parts: [{ text: 'x'.repeat(1_000) }] });
    await ctx.artifact({ parts: [{ text: 'y'.repeat(400_000) }] });
  },
  listens: async (ctx) => {
    await ctx.working('listening');
    const received = [];
    for await (const message of ctx.messages()) {
      received.push(`${text(message)} ${ctx.requestOf(message).metadata.mood}`);
      if (received.length === 2) break;
    }
    return ctx.requireInput(received.join(', '));
  },
  'asks-late': async (ctx) => {
    if (ctx.history.length > 0) return ctx.complete(`next turn: ${ctx.text}`);
    await ctx.working('waiting');
    await new Promise((resolve) => setTimeout(resolve, 300));
    return ctx.requireInput('more?');
  },
  cancels: async (ctx) => {
    await ctx.working('waiting');
    await untilAborted(ctx.signal);
    const { reason } = ctx.signal;
    return ctx.cancel(`${reason.constructor.name}: ${reason.message}`);
  },
  fenced: async (ctx) => {
    if (ctx.attempt > 1) return ctx.complete('by the next run');
    await ctx.working('waiting');
    await untilAborted(ctx.signal);
    notes.fencedReason = `${ctx.signal.reason.name}: ${ctx.signal.reason.message}`;
    notes.fencedWrite = await errorOf(ctx.complete('still here'));
    const received = [];
    for await (const message of ctx.messages()) received.push(message);
    notes.fencedMessages = received.length;
    throw ctx.signal.reason;
  },
  slow: async (ctx) => {
    await untilAborted(ctx.signal);
    notes.slow = `${ctx.signal.reason.constructor.name}: ${ctx.signal.reason.message}`;
    throw ctx.signal.reason;
  },
  attaches: async (ctx) => {
    await ctx.attach({ taskId: 'u-1', contextId: 'c-1', messageId: 'm-1' });
    return ctx.requireInput('more?');
  },
  report: (ctx) => ctx.complete([{ data: notes }]),
};

const agent = {
  description: 'Runs the scenarios of the contract suite',
  version: '1.0.0',
  skills: [{ id: 'contract', name: 'Contract', description: 'Runs scenarios', tags: ['test'] }],
  run(ctx) {
    const first = ctx.history.find(({ role }) => role === 'user') ?? ctx.message;
    return SCENARIOS[text(first).split(' ')[0]](ctx);
  },
  async onCanceled(upstream) {
    notes.onCanceled = upstream.taskId;
  },
};

export default [
  { ...agent, name: 'contract', retry: { attempts: 3, backoffMs: 1 } },
  { ...agent, name: 'limited', timeoutMs: 200, retry: { attempts: 1, backoffMs: 1 } },
];
