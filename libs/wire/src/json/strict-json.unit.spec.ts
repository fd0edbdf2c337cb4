import { describe, expect, it } from '@jest/globals';
import { BOUNDS, DomainError } from '@app/domain';
import fc from 'fast-check';
import { requestErrorOf } from '../../../../test/support/clients/decoding.js';
import { parseAndCheckJson, parseJson } from './strict-json.js';

const bytes = (text: string) => Buffer.from(text);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('The JSON of a request', () => {
  it('is parsed without a change', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(JSON.stringify(parseJson(bytes(JSON.stringify(value))))).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each([
    ['an incomplete object', '{"a":'],
    ['no bytes', ''],
    ['two values', '{} {}'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '[1,]'],
    ['NaN', 'NaN'],
  ])('is a parse error with %s', (_, text) => {
    expect(requestErrorOf(() => parseAndCheckJson(bytes(text))).kind).toBe('ParseError');
  });

  it.each([
    ['an overlong sequence', [0x22, 0xc0, 0xaf, 0x22]],
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ])('is a parse error in UTF-8 with %s', (_, raw) => {
    expect(requestErrorOf(() => parseAndCheckJson(Uint8Array.from(raw))).kind).toBe('ParseError');
  });

  it('is a parse error after a byte order mark, which only a response can have', () => {
    const error = requestErrorOf(() => parseAndCheckJson(bytes('\ufeff{"a":1}')));
    expect(error).toMatchObject({ kind: 'ParseError', message: expect.stringContaining('byte order mark') });
    expect(parseJson(bytes('\ufeff{"a":1}'))).toEqual({ a: 1 });
  });

  it('has __proto__ and constructor as own members that do not change an object', () => {
    const value = parseAndCheckJson(bytes('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}'));
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect((value as { admin?: boolean }).admin).toBeUndefined();
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it.each([
    ['too many levels', nested(BOUNDS.jsonDepth + 1), /levels deep/],
    ['enough levels to overflow a recursive parser', nested(500_000), /levels deep/],
    ['too many elements', JSON.stringify(Array(BOUNDS.jsonKeys + 1).fill(0)), /members and elements/],
    ['a string that is too long', JSON.stringify('é'.repeat(BOUNDS.jsonStringBytes / 2 + 1)), /bytes/],
    ['NUL', '"\\u0000"', /NUL/],
    ['NUL in a key', '{"a\\u0000":1}', /NUL/],
    ['a lone surrogate', '"\\ud800"', /surrogate/],
    ['a number beyond a double', '1e400', /fits into a double/],
  ])('is rejected with %s as invalid parameters, not as a parse error', (_, text, message) => {
    const error = requestErrorOf(() => parseAndCheckJson(bytes(text)));
    expect(error.kind).toBe('InvalidParameters');
    expect(error.message).toMatch(message);
  });

  it('is accepted exactly at its bounds', () => {
    expect(() => parseAndCheckJson(bytes(nested(BOUNDS.jsonDepth)))).not.toThrow();
    expect(() => parseAndCheckJson(bytes(JSON.stringify('é'.repeat(BOUNDS.jsonStringBytes / 2))))).not.toThrow();
    expect(() => parseAndCheckJson(bytes(JSON.stringify(Array(BOUNDS.jsonKeys).fill(0))))).not.toThrow();
  });

  it('is rejected with the path of the invalid value', () => {
    const error = requestErrorOf(() =>
      parseAndCheckJson(bytes(JSON.stringify({ message: { parts: [{ text: 'a' }, { text: '\0' }] } }))),
    );
    expect(DomainError.is(error, 'InvalidParameters') && error.details.violations[0]?.field).toBe(
      'message.parts[1].text',
    );
  });

  it('is rejected with a short, printable path if keys are long or unprintable', () => {
    const error = requestErrorOf(() =>
      parseAndCheckJson(bytes(JSON.stringify({ ['x'.repeat(5000)]: { 'a\nb': '\0' } }))),
    );
    expect(error.message).not.toMatch(/\n/);
    expect(error.message.length).toBeLessThan(250);
  });
});
