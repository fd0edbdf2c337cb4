import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import fc from 'fast-check';
import { findLoss } from './json-losses.js';
import { numberProblem } from './json-number.js';
import { JsonWalk } from './json-walk.js';
import { findViolation, parseAndCheckJson, parseDocument } from './strict-json.js';
import { countStrings } from './string-tokens.js';
import { firstLossOf, losesValue } from './test/reference-json.js';

const rejectionOf = (text: string): { field: string; description: string } | undefined => {
  try {
    parseAndCheckJson(Buffer.from(text));
    return undefined;
  } catch (error) {
    if (DomainError.is(error, 'InvalidParameters')) return error.details.violations[0];
    throw error;
  }
};

/** JSON numbers in every notation, with digits around the limits of a double. */
const numbers = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: fc.oneof(
      fc.constantFrom('0', '9007199254740991', '9007199254740992', '9007199254740993', '18446744073709551616'),
      fc.bigInt({ min: 0n, max: 2n ** 80n }).map(String),
      fc.nat({ max: 99 }).map(String),
    ),
    fraction: fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{1,20}$/), fc.constantFrom('.0', '.000', '.50')),
    power: fc.oneof(
      fc.constant(''),
      fc.integer({ min: -25, max: 25 }).map((power) => `e${power}`),
      fc.integer({ min: -420, max: 420 }).map((power) => `E${power < 0 ? power : `+${power}`}`),
    ),
  })
  .map(({ sign, whole, fraction, power }) => `${sign}${whole}${fraction}${power}`);

const spaces = fc.constantFrom('', ' ', '\n\t', '\r ');

/** The same key, written literally or with its characters escaped. */
const keys = fc
  .tuple(fc.constantFrom('a', 'text', '"', '\\', 'é', '', '__proto__', '0'), fc.boolean())
  .map(([key, isEscaped]) =>
    isEscaped
      ? `"${key.replace(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
      : JSON.stringify(key),
  );

const strings = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\0')),
  fc.constantFrom('e-999', '{"a":1,"a":2}', '9007199254740993', '\\', '\\"', 'C:\\dir\\'),
  fc.stringMatching(/^[\\"x]{0,300}$/),
  fc.tuple(fc.nat({ max: 600 }), fc.stringMatching(/^[\\"]{0,9}$/)).map(([length, end]) => 'x'.repeat(length) + end),
);

/** Texts of JSON documents, in which keys repeat and numbers are not represented now and then. */
const { value: texts } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      strings.map((text) => JSON.stringify(text)),
      fc.constantFrom('true', 'null', '0', '-0', '1.5'),
      numbers,
    ),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 4 }), spaces)
      .map(([items, gap]) => `[${gap}${items.join(`${gap},`)}]`),
    fc
      .tuple(fc.array(fc.tuple(keys, spaces, tie('value')), { maxLength: 4 }), spaces)
      .map(
        ([members, gap]) =>
          `{${members.map(([key, space, item]) => `${gap}${key}${space}:${space}${item}`).join(',')}${gap}}`,
      ),
  ),
}));

describe('A JSON document', () => {
  it('is rejected exactly if the slow reference finds a repeated key or a number that a double does not represent', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const expected = firstLossOf(text);
        expect(findLoss(text)?.path).toEqual(expected);
        expect(findViolation(parseDocument(Buffer.from(text))) === undefined).toBe(expected === undefined);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['a repeated key', '{"a":1,"a":1}', 'a'],
    [
      'a repeated key in a part',
      '{"message":{"parts":[{"text":"a"},{"text":"b","text":"c"}]}}',
      'message.parts[1].text',
    ],
    ['a repeated key that is escaped once', '{"text":"a","\\u0074ext":"b"}', 'text'],
    ['a repeated key in metadata', '{"metadata":{"ring":"a","other":{},"ring":"b"}}', 'metadata.ring'],
    ['a repeated empty key', '{"":1,"":2}', '(body)'],
    ['a repeated __proto__', '{"__proto__":{},"__proto__":{}}', '__proto__'],
    ['a repeated key whose first value is an object', '{"a":{"b":[1,{"c":2}]},"a":0}', 'a'],
    ['a repeated key between escaped quotes', '{"x":"\\"a\\":1,\\\\","a":1,"y":"\\\\","a":2}', 'a'],
    ['an integer beyond 2^53', '{"n":9007199254740993}', 'n'],
    ['a negative integer beyond 2^53', '[[1,-9007199254740993]]', '[0][1]'],
    ['an integer beyond 2^53 with a decimal point', '{"n":9007199254740993.0}', 'n'],
    ['an integer beyond 2^53 with an exponent', '{"n":9.007199254740993e15}', 'n'],
    ['an integer beyond 2^53 with a negative exponent', '{"n":90071992547409930e-1}', 'n'],
    ['the largest unsigned 64-bit integer', '{"n":18446744073709551615}', 'n'],
    ['the largest signed 64-bit integer', '{"n":9223372036854775807}', 'n'],
    ['an integer of 30 digits', '{"n":123456789012345678901234567890}', 'n'],
    ['a number beyond a double', '{"n":1e999}', 'n'],
    ['a negative number beyond a double', '{"n":-1.8E+308}', 'n'],
    ['an integer of 400 digits', `{"n":${'9'.repeat(400)}}`, 'n'],
    ['a number that rounds to zero', '{"n":1e-999}', 'n'],
    ['a negative number that rounds to zero', '{"n":-2.4e-324}', 'n'],
    ['a number that rounds to zero without an exponent', `{"n":0.${'0'.repeat(400)}1}`, 'n'],
    ['a number that rounds to zero with a small exponent', `{"n":0.${'0'.repeat(250)}1e-99}`, 'n'],
    ['a number that rounds to zero after many dashes', `{"text":"${'-'.repeat(5_000)}","n":1e-999}`, 'n'],
    ['a number that rounds to zero after the last dash', `{"text":"${'-'.repeat(1_999)}","n":1e-999}`, 'n'],
    ['a number that rounds to zero with leading zeros in its exponent', '{"n":1e-00400}', 'n'],
  ])('is rejected with the path of %s', (_, text, field) => {
    expect(rejectionOf(text)).toMatchObject({ field });
  });

  it.each([
    ['an integer of 2^53', '9007199254740992'],
    ['an even integer beyond 2^53', '9007199254740994'],
    ['a power of two beyond 2^53', '18446744073709551616'],
    ['an integer as JSON writes a large double', '590295810358705700000'],
    ['a large double with an exponent', '1e23'],
    ['the largest double', '1.7976931348623157e308'],
    ['a fraction with more digits than a double has', '3.14159265358979323846264338327950288'],
    ['a fraction beyond 2^53', '9007199254740993.5'],
    ['a fraction that a double cannot hold', '0.1'],
    ['the smallest double', '5e-324'],
    ['a subnormal double', '1e-320'],
    ['a zero with an exponent', '0e-999'],
    ['a negative zero', '-0.000e+400'],
    ['a long zero', `0.${'0'.repeat(1000)}`],
  ])('is accepted with %s', (_, number) => {
    expect(rejectionOf(`{"zero":0,"n":${number}}`)).toBeUndefined();
  });

  it('is accepted with the same key in different objects, and with text that looks like a loss', () => {
    expect(rejectionOf('[{"a":1},{"a":{"a":{"b":1}},"b":[{"a":2},{"a":3}]}]')).toBeUndefined();
    expect(rejectionOf('{"zero":0,"text":"1e-999 9007199254740993 {\\"a\\":1,\\"a\\":2}"}')).toBeUndefined();
    expect(rejectionOf('{"a":1,"A":2,"a ":3,"á":4,"a\\u0301":5}')).toBeUndefined();
  });

  it('is rejected with a message that states the value and what to send instead', () => {
    expect(rejectionOf('{"n":9007199254740993}')?.description).toBe(
      'must be an integer that a double holds exactly, not 9007199254740993; send it as a string',
    );
    expect(rejectionOf('{"n":1e-999}')?.description).toBe(
      'must be a number that a double does not round to zero, not 1e-999',
    );
    expect(rejectionOf('{"a":1,"a":2}')?.description).toBe('is sent twice in one object; send it once');
    expect(rejectionOf(`{"n":${'1'.repeat(300)}}`)?.description.length).toBeLessThan(150);
  });

  it('is rejected if the value that a repeated key hides has many levels, many members or a long number', () => {
    const hidden = [
      `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`,
      `[${'0,'.repeat(600_000)}0]`,
      `1${'0'.repeat(1_400_000)}e-1400000`,
      `"${'\\'.repeat(1_400_000)}"`,
    ];
    for (const value of hidden) expect(rejectionOf(`{"x":${value},"x":0}`)).toBeDefined();
  });

  it('has as many strings as the scan of its bytes counts', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(strings, { maxLength: 30 }), fc.nat({ max: 7 }), (value, more, offset) => {
        const document: unknown[] = [value, ...more];
        const text = JSON.stringify(document, null, offset);
        const body = Buffer.from(' '.repeat(offset) + text).subarray(offset);
        expect(countStrings(body)).toBe(new JsonWalk(JSON.parse(text)).strings);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('A JSON number', () => {
  it('is rejected exactly if the slow reference finds that its value is lost', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        expect(numberProblem(number) !== undefined).toBe(losesValue(number));
      }),
      { numRuns: 10_000 },
    );
  });

  it('is accepted if JSON.stringify wrote it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(numberProblem(JSON.stringify(number))).toBeUndefined();
      }),
      { numRuns: 5_000 },
    );
  });
});
