export default {
  name: 'reporter',
  description: 'Publishes the request that it receives',
  version: '1.0.0',
  skills: [{ id: 'report', name: 'Report', description: 'reports the request', tags: ['test'] }],
  async run(ctx) {
    await ctx.artifact({ id: 'request', parts: [{ data: ctx.request }] });
  },
};
