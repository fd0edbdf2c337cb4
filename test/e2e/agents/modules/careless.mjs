/** Rejects a promise without a handler in each run. */
export default {
  name: 'careless',
  description: 'Rejects a promise without a handler',
  version: '1.0.0',
  skills: [{ id: 'x', name: 'X', description: 'X', tags: [] }],
  async run(ctx) {
    void Promise.reject(new Error('no handler'));
    await ctx.artifact({ id: 'text', parts: [{ text: 'done' }] });
  },
};
