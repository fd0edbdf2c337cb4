import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSse, encodeSseComment, encodeSseFrame, encodeSseRetry, type SseItem } from './sse.js';

async function parsed(chunks: readonly (string | Uint8Array)[], options?: { maxEventBytes: number }) {
  const arrivals: SseItem[] = [];
  const source = (async function* () {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  })();
  for await (const arrival of parseSse(source, options)) arrivals.push(arrival);
  return arrivals;
}

const oneLine = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\0]/g, ''));

describe('server-sent events', () => {
  it('reads back every frame, however the network cuts it', async () => {
    const frame = fc.record({ data: fc.string({ unit: 'grapheme', minLength: 1 }), id: oneLine, event: oneLine });
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 5 }), fc.integer({ min: 1, max: 7 }), async (frames, size) => {
        const bytes = Buffer.from(frames.map((f) => encodeSseFrame(f)).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        const arrivals = await parsed(chunks);
        expect(arrivals).toEqual(
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

  it('writes the version of a task as the id', () => {
    expect(encodeSseFrame({ id: 3, data: '{"a":1}' })).toBe('id: 3\ndata: {"a":1}\n\n');
  });

  it('gives comments to whoever waits for one', async () => {
    expect(await parsed([encodeSseComment('keep-alive')])).toEqual([{ type: 'comment', text: 'keep-alive' }]);
  });

  it('hands a retry hint to the next event', async () => {
    expect(await parsed([encodeSseRetry(2500), encodeSseFrame({ data: 'x' })])).toMatchObject([
      { retry: 2500, data: 'x' },
    ]);
  });

  it('understands CR, LF and CRLF, and a CRLF cut in two', async () => {
    const arrivals = await parsed(['data: a\r', '\n\r\ndata: b\r\rdata: c\n', '\n']);
    expect(arrivals.map((a) => a.type === 'event' && a.data)).toEqual(['a', 'b', 'c']);
  });

  it('drops an event that the end cuts off', async () => {
    expect(await parsed(['data: a\n\ndata: b\n'])).toHaveLength(1);
  });

  it('refuses an event that never ends', async () => {
    await expect(parsed(['data: x\n'.repeat(100)], { maxEventBytes: 300 })).rejects.toThrow(/longer than 300/);
    await expect(parsed(['data: ' + 'x'.repeat(400)], { maxEventBytes: 300 })).rejects.toThrow(/longer than 300/);
  });

  it('writes no field that could start another one', () => {
    expect(() => encodeSseFrame({ id: '1\ndata: forged', data: 'x' })).toThrow(/one line/);
  });
});
