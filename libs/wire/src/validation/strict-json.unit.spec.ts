import { describe, expect, it } from '@jest/globals';
import { BOUNDS, DomainError } from '@app/domain';
import { type RequestError, TransportError } from '../transport/transport-error.js';
import fc from 'fast-check';
import { checkJson, parseJson, parseAndCheckJson } from './strict-json.js';

const bytes = (text: string) => Buffer.from(text);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

function refusal(run: () => unknown): RequestError {
  try {
    run();
  } catch (error) {
    if (error instanceof DomainError || error instanceof TransportError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('strict JSON', () => {
  it('reads any JSON that JSON.stringify writes, unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(JSON.stringify(parseJson(bytes(JSON.stringify(value))))).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each([
    ['no JSON', '{"a":'],
    ['nothing', ''],
    ['two values', '{} {}'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '[1,]'],
    ['NaN', 'NaN'],
  ])('calls %s a parse error', (_, text) => {
    expect(refusal(() => parseAndCheckJson(bytes(text))).kind).toBe('ParseError');
  });

  it.each([
    ['an overlong sequence', [0x22, 0xc0, 0xaf, 0x22]],
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ])('calls %s a parse error', (_, raw) => {
    expect(refusal(() => parseAndCheckJson(Uint8Array.from(raw))).kind).toBe('ParseError');
  });

  it('passes over a byte order mark', () => {
    expect(parseAndCheckJson(bytes('\ufeff{"a":1}'))).toEqual({ a: 1 });
  });

  it('keeps __proto__ and constructor as plain members that change no object', () => {
    const value = parseAndCheckJson(bytes('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}'));
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect((value as { admin?: boolean }).admin).toBeUndefined();
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it.each([
    ['too deep', nested(BOUNDS.jsonDepth + 1), /levels deep/],
    ['deep enough to break a recursive parser', nested(500_000), /levels deep/],
    ['too many elements', JSON.stringify(Array(BOUNDS.jsonKeys + 1).fill(0)), /members and elements/],
    ['too long a string', JSON.stringify('é'.repeat(BOUNDS.jsonStringBytes / 2 + 1)), /bytes/],
    ['NUL', '"\\u0000"', /NUL/],
    ['NUL in a key', '{"a\\u0000":1}', /NUL/],
    ['a lone surrogate', '"\\ud800"', /surrogate/],
    ['a number beyond a double', '1e400', /too large/],
  ])('calls JSON with %s invalid parameters, not a parse error', (_, text, why) => {
    const error = refusal(() => parseAndCheckJson(bytes(text)));
    expect(error.kind).toBe('InvalidParameters');
    expect(error.message).toMatch(why);
  });

  it('accepts JSON exactly at its bounds', () => {
    expect(() => parseAndCheckJson(bytes(nested(BOUNDS.jsonDepth)))).not.toThrow();
    expect(() => parseAndCheckJson(bytes(JSON.stringify('é'.repeat(BOUNDS.jsonStringBytes / 2))))).not.toThrow();
    expect(() => checkJson(Array<number>(BOUNDS.jsonKeys).fill(0))).not.toThrow();
  });

  it('names the path of what it refuses', () => {
    const error = refusal(() => checkJson({ message: { parts: [{ text: 'a' }, { text: '\0' }] } }));
    expect(DomainError.is(error, 'InvalidParameters') && error.details.violations[0]?.field).toBe(
      'message.parts[1].text',
    );
  });

  it('keeps the path readable when keys are long or strange', () => {
    const error = refusal(() => checkJson({ ['x'.repeat(5000)]: { 'a\nb': '\0' } }));
    expect(error.message).not.toMatch(/\n/);
    expect(error.message.length).toBeLessThan(250);
  });
});
