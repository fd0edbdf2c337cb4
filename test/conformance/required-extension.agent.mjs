/** An agent for the one requirement that the kit can try only where every client must name an extension. */
export default {
  name: 'required-extension',
  description: 'Answers those that name the extension that the TCK looks for',
  version: '1.0.0',
  skills: [{ id: 'answer', name: 'Answer', description: 'Answers', tags: ['conformance'] }],
  extensions: [{ uri: 'urn:a2a:tck:required-extension', required: true }],
  idempotency: 'off',
  run: (ctx) => ctx.complete('Hello from TCK'),
};
