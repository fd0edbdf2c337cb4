import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSse, encodeSseComment, encodeSseFrame, encodeSseRetry, type SseItem } from './sse.js';

async function parsed(chunks: readonly (string | Uint8Array)[], options?: { maxEventBytes: number }) {
  const items: SseItem[] = [];
  const source = (async function* () {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  })();
  for await (const item of parseSse(source, options)) items.push(item);
  return items;
}

const singleLine = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\0]/g, ''));

describe('The server-sent events of a stream', () => {
  it('are parsed as they were encoded, in chunks of any size', async () => {
    const frame = fc.record({ data: fc.string({ unit: 'grapheme', minLength: 1 }), id: singleLine, event: singleLine });
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 5 }), fc.integer({ min: 1, max: 7 }), async (frames, size) => {
        const bytes = Buffer.from(frames.map((f) => encodeSseFrame(f)).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const items = await parsed(chunks);
        expect(items).toEqual(
          frames.map(({ data, id, event }) => ({
            type: 'event',
            data: data.replace(/\r\n|\r/g, '\n'),
            id,
            event: event || 'message',
          })),
        );
      }),
    );
  });

  it('have the version of a task as the id', () => {
    expect(encodeSseFrame({ id: 3, data: '{"a":1}' })).toBe('id: 3\ndata: {"a":1}\n\n');
  });

  it('can be comments', async () => {
    expect(await parsed([encodeSseComment('keep-alive')])).toEqual([{ type: 'comment', text: 'keep-alive' }]);
  });

  it('have the preceding reconnection delay in the next event', async () => {
    expect(await parsed([encodeSseRetry(2500), encodeSseFrame({ data: 'x' })])).toMatchObject([
      { retry: 2500, data: 'x' },
    ]);
  });

  it('end with CR, LF or CRLF, also if two chunks divide a CRLF', async () => {
    const items = await parsed(['data: a\r', '\n\r\ndata: b\r\rdata: c\n', '\n']);
    expect(items.map((a) => a.type === 'event' && a.data)).toEqual(['a', 'b', 'c']);
  });

  it('do not contain an incomplete event at the end of the stream', async () => {
    expect(await parsed(['data: a\n\ndata: b\n'])).toHaveLength(1);
  });

  it('are rejected if one is longer than the maximum', async () => {
    await expect(parsed(['data: x\n'.repeat(100)], { maxEventBytes: 300 })).rejects.toThrow(/longer than 300/);
    await expect(parsed(['data: ' + 'x'.repeat(400)], { maxEventBytes: 300 })).rejects.toThrow(/longer than 300/);
  });

  it('are rejected if a field contains a line break', () => {
    expect(() => encodeSseFrame({ id: '1\ndata: forged', data: 'x' })).toThrow(/single line/);
  });
});
