/** An agent without `run`: remote workers execute it over HTTP. See docs/workers.md. */
export default {
  name: 'shout',
  description: 'Repeats every word louder',
  version: '1.0.0',
  skills: [{ id: 'shout', name: 'Shout', description: 'Returns the text in capitals, word by word', tags: ['text'] }],
  inputModes: ['text/plain'],
  outputModes: ['text/plain'],
  retry: { attempts: 5, backoffMs: 1000 },
};
