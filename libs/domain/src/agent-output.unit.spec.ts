import { describe, expect, it } from '@jest/globals';
import { validateRunOutput } from './agent-output.js';
import type { Json, Part } from './content.js';
import { DomainError } from './errors.js';

const nested = (depth: number): Json => (depth === 0 ? 1 : [nested(depth - 1)]);

const artifact = (parts: unknown, artifactId = 'a') =>
  validateRunOutput(
    { type: 'artifact', artifactId, artifact: { parts: parts as Part[] }, append: false, last: true },
    'task',
  );

const message = (parts: unknown) =>
  validateRunOutput({ type: 'complete', message: { messageId: 'm', role: 'agent', parts: parts as Part[] } }, 'task');

const INVALID: [string, unknown][] = [
  ['nothing', undefined],
  ['no parts', []],
  ['parts that are none', 'text'],
  ['a part that is a text', ['text']],
  ['a part without content', [{ mediaType: 'text/plain' }]],
  ['a part with two contents', [{ text: 'a', url: 'https://example.com' }]],
  ['data that is too deep', [{ data: nested(80) }]],
];

describe('what an agent says', () => {
  it.each(INVALID)('is refused when it has %s, in an artifact and in a message', (_, parts) => {
    for (const say of [artifact, message]) {
      let thrown: unknown;
      try {
        say(parts);
      } catch (error) {
        thrown = error;
      }
      expect(DomainError.is(thrown, 'InvalidAgentResponse')).toBe(true);
    }
  });

  it('is taken with any of the four contents, empty and null ones too', () => {
    const parts: Part[] = [{ text: '' }, { raw: 'aGk=' }, { url: 'https://example.com' }, { data: null }];
    expect(() => artifact(parts)).not.toThrow();
    expect(() => message([...parts, { data: nested(50) }])).not.toThrow();
    expect(() => validateRunOutput({ type: 'status' }, 'task')).not.toThrow();
  });

  it.each(['', ' \u0000', 'x'.repeat(257), '\ud800'])('is refused under the artifact id %j', (id) => {
    expect(() => artifact([{ text: 'a' }], id)).toThrow(/artifact id/);
  });
});
