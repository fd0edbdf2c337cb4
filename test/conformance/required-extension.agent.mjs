/** An agent with a required extension, for the one test of the TCK that needs it. */
export default {
  name: 'required-extension',
  description: 'Requires the extension that the TCK uses',
  version: '1.0.0',
  skills: [{ id: 'respond', name: 'Respond', description: 'Returns a fixed text', tags: ['conformance'] }],
  extensions: [{ uri: 'urn:a2a:tck:required-extension', required: true }],
  idempotency: 'off',
  run: (ctx) => ctx.complete('Hello from TCK'),
};
