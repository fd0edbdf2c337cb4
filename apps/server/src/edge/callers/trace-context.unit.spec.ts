import { describe, expect, it } from '@jest/globals';
import { traceContextOf } from './trace-context.js';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const stateOf = (tracestate: string | string[]) =>
  traceContextOf({ headers: { traceparent: PARENT, tracestate } })?.state;

describe('traceContextOf', () => {
  it('returns traceparent and tracestate as they were sent', () => {
    const tracestate = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,tenant@system=a b';
    expect(traceContextOf({ headers: { traceparent: PARENT, tracestate } })).toEqual({
      parent: PARENT,
      state: tracestate,
    });
    expect(traceContextOf({ headers: { traceparent: PARENT } })).toEqual({ parent: PARENT });
  });

  it.each([
    ['a missing header', undefined],
    ['the version ff', PARENT.replace('00-', 'ff-')],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['a parent id of zeros', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
    ['upper-case digits', PARENT.toUpperCase()],
    ['additional fields', `${PARENT}-more`],
    ['two values', `${PARENT}, ${PARENT}`],
  ])('returns undefined for %s', (_what, traceparent) => {
    expect(traceContextOf({ headers: { traceparent, tracestate: 'a=1' } })).toBeUndefined();
  });

  it.each([
    ['no entry', ' , ,'],
    ['an entry without a value', 'a=1,b'],
    ['an upper-case key', 'A=1'],
    ['a repeated key', 'a=1,a=2'],
    ['a value with an equals sign', 'a=1=2'],
    ['a line break', 'a=1\r\nX-Other: 2'],
    ['33 entries', Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(',')],
  ])('ignores a tracestate with %s', (_what, tracestate) => {
    expect(stateOf(tracestate)).toBeUndefined();
  });

  it('joins repeated tracestate headers and removes spaces around entries', () => {
    expect(stateOf(['a=1 ,', ' b=2'])).toBe('a=1,b=2');
  });

  it('removes the last entries of a tracestate of more than 512 characters', () => {
    const entry = (key: string) => `${key}=${'x'.repeat(198)}`;
    expect(stateOf(['a', 'b', 'c'].map(entry).join(','))).toBe(['a', 'b'].map(entry).join(','));
    expect(stateOf(`a=${'x'.repeat(256)},b=${'y'.repeat(256)}`)).toBe(`a=${'x'.repeat(256)}`);
  });
});
