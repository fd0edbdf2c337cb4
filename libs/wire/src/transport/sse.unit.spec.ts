import { describe, expect, it } from '@jest/globals';
import { encodeSseComment, encodeSseFrame, encodeSseRetry } from './sse.js';

// `libs/client` tests that a parser reads back every frame.
describe('Server-sent events', () => {
  it('have the version of a task as the id', () => {
    expect(encodeSseFrame({ id: 3, data: '{"a":1}' })).toBe('id: 3\ndata: {"a":1}\n\n');
  });

  it('have a data field for each line of the data', () => {
    expect(encodeSseFrame({ data: 'a\nb\r\nc' })).toBe('data: a\ndata: b\ndata: c\n\n');
  });

  it('can be comments and reconnection delays', () => {
    expect(encodeSseComment('keep-alive') + encodeSseRetry(2500)).toBe(': keep-alive\n\nretry: 2500\n\n');
  });

  it('are rejected if a field contains a line break', () => {
    expect(() => encodeSseFrame({ id: '1\ndata: forged', data: 'x' })).toThrow(/single line/);
  });
});
