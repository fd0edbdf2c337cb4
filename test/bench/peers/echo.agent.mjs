/** Returns its text as an artifact, like the demo agent. */
export default {
  name: 'echo',
  description: 'Returns its text',
  version: '1.0.0',
  skills: [{ id: 'echo', name: 'Echo', description: 'Returns its text', tags: ['bench'] }],
  async run(/** @type {any} */ ctx) {
    await ctx.artifact({ id: 'text', name: 'Text', parts: [{ text: ctx.text.toUpperCase() }], last: true });
  },
};
