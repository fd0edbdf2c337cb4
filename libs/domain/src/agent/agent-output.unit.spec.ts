import { describe, expect, it } from '@jest/globals';
import { validateRunOutput } from './agent-output.js';
import type { Json, Part } from '../content.js';
import { DomainError } from '../errors.js';

const nested = (depth: number): Json => (depth === 0 ? 1 : [nested(depth - 1)]);

const artifact = (parts: unknown, artifactId = 'a') =>
  validateRunOutput(
    { type: 'artifact', artifactId, artifact: { parts: parts as Part[] }, append: false, last: true },
    'task',
  );

const message = (parts: unknown) =>
  validateRunOutput({ type: 'complete', message: { messageId: 'm', role: 'agent', parts: parts as Part[] } }, 'task');

const INVALID: [string, unknown][] = [
  ['no list of parts', undefined],
  ['an empty list of parts', []],
  ['a text instead of parts', 'text'],
  ['a text instead of a part', ['text']],
  ['a part without content', [{ mediaType: 'text/plain' }]],
  ['a part with two contents', [{ text: 'a', url: 'https://example.com' }]],
  ['data that is nested too deeply', [{ data: nested(80) }]],
  ['a placeholder', [{ text: 'a', placeholder: {} }]],
];

describe('validateRunOutput', () => {
  it.each(INVALID)('rejects an artifact and a message with %s', (_, parts) => {
    for (const validate of [artifact, message]) {
      let thrown: unknown;
      try {
        validate(parts);
      } catch (error) {
        thrown = error;
      }
      expect(DomainError.is(thrown, 'InvalidAgentResponse')).toBe(true);
    }
  });

  it('accepts parts with each of the four contents, including empty and null ones', () => {
    const parts: Part[] = [{ text: '' }, { raw: 'aGk=' }, { url: 'https://example.com' }, { data: null }];
    expect(() => artifact(parts)).not.toThrow();
    expect(() => message([...parts, { data: nested(50) }])).not.toThrow();
    expect(() => validateRunOutput({ type: 'status' }, 'task')).not.toThrow();
  });

  it.each(['', ' \u0000', 'x'.repeat(257), '\ud800'])('rejects the artifact id %j', (id) => {
    expect(() => artifact([{ text: 'a' }], id)).toThrow(/artifact id/);
  });
});
