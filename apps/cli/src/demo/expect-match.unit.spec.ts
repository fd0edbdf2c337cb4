import { describe, expect, it } from '@jest/globals';
import { expectMatch, Mismatch } from './expect-match.js';

describe('expectMatch', () => {
  it('compares the expected fields, every array element, and strings with patterns', () => {
    const response = { id: 'a', parts: [{ text: 'HELLO', more: 1 }], time: '2026Z' };
    expect(() => expectMatch(response, { parts: [{ text: 'HELLO' }], time: /Z$/, error: undefined })).not.toThrow();
  });

  it.each([
    [{ a: { b: 1 } }, { a: { b: 2 } }, 'response.a.b: expected 2, got 1'],
    [{ a: [1, 2] }, { a: [1] }, 'response.a: expected [1], got [1,2]'],
    [{}, { a: 'x' }, 'response.a: expected "x", got absent'],
    [{ error: 1 }, { error: undefined }, 'response.error: expected absent, got 1'],
    [{ a: 5 }, { a: /5/ }, 'response.a: expected /5/, got 5'],
    [{ a: null }, { a: {} }, 'response.a: expected an object, got null'],
  ])('rejects %j for the expectation %j with the path of the difference', (actual, expected, message) => {
    expect(() => expectMatch(actual, expected)).toThrow(new Mismatch(message));
  });
});
