import { expect, it } from '@jest/globals';
import { Difference, expectLike } from './expect-like.js';

it('compares the named fields, every element of a list, and strings with patterns', () => {
  const answer = { id: 'a', parts: [{ text: 'HELLO', more: 1 }], at: '2026Z' };
  expect(() => expectLike(answer, { parts: [{ text: 'HELLO' }], at: /Z$/, error: undefined })).not.toThrow();
});

it.each([
  [{ a: { b: 1 } }, { a: { b: 2 } }, 'the answer.a.b should be 2, and is 1'],
  [{ a: [1, 2] }, { a: [1] }, 'the answer.a should be [1], and is [1,2]'],
  [{}, { a: 'x' }, 'the answer.a should be "x", and is absent'],
  [{ error: 1 }, { error: undefined }, 'the answer.error should be nothing, and is 1'],
  [{ a: 5 }, { a: /5/ }, 'the answer.a should be /5/, and is 5'],
  [{ a: null }, { a: {} }, 'the answer.a should be an object, and is null'],
])('names the place that differs: %j is not like %j', (actual, expected, message) => {
  expect(() => expectLike(actual, expected)).toThrow(new Difference(message));
});
