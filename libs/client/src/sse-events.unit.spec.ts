import { describe, expect, it } from '@jest/globals';
import { encodeSseComment, encodeSseFrame, encodeSseRetry } from '@app/wire';
import fc from 'fast-check';
import { parseSseEvents, type SseEvent } from './sse-events.js';

async function parse(chunks: readonly (string | Uint8Array)[], maxLength = 1_000_000): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  const source = (async function* () {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  })();
  for await (const event of parseSseEvents(source, maxLength)) events.push(event);
  return events;
}

const oneLine = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\0]/g, ''));

describe('parseSseEvents', () => {
  it('returns every frame, whatever the boundaries of the chunks', async () => {
    const frame = fc.record({ data: fc.string({ unit: 'grapheme', minLength: 1 }), id: oneLine });
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 5 }), fc.integer({ min: 1, max: 7 }), async (frames, size) => {
        const bytes = Buffer.from(frames.map((f) => encodeSseFrame(f)).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        expect(await parse(chunks)).toEqual(
          frames.map(({ data, id }) => ({ id, data: data.replace(/\r\n|\r/g, '\n') })),
        );
      }),
    );
  });

  it('returns the last id with an event that has none', async () => {
    expect(await parse(['data: a\n\nid: 7\ndata: b\n\ndata: c\n\nid\ndata: d\n\n'])).toEqual([
      { id: '', data: 'a' },
      { id: '7', data: 'b' },
      { id: '7', data: 'c' },
      { id: '', data: 'd' },
    ]);
  });

  it('ignores comments, reconnection times and unknown fields', async () => {
    const stream = [encodeSseComment('keep-alive'), encodeSseRetry(2500), 'retry: soon\nunknown: x\n', 'data: a\n\n'];
    expect(await parse(stream)).toEqual([{ id: '', data: 'a' }]);
  });

  it('accepts CR, LF and CRLF as line ends, and a CRLF that is split between two chunks', async () => {
    const events = await parse(['data: a\r', '\n\r\ndata: b\r\rdata: c\n', '\n']);
    expect(events.map(({ data }) => data)).toEqual(['a', 'b', 'c']);
  });

  it('drops an event that the end of the stream cuts off', async () => {
    expect(await parse(['data: a\n\ndata: b\n'])).toEqual([{ id: '', data: 'a' }]);
  });

  it.each([
    ['an event whose data exceeds the limit', ['data: x\n'.repeat(200)]],
    ['a line that exceeds the limit', [`data: ${'x'.repeat(400)}`]],
    ['a comment that exceeds the limit', [`: ${'x'.repeat(400)}`]],
    ['a stream of chunks without a line end', Array.from({ length: 400 }, () => 'x')],
  ])('fails for %s', async (_what, chunks) => {
    await expect(parse(chunks, 300)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'an event of the stream is longer than 300 characters',
    });
  });

  it('stops reading at the limit', async () => {
    let read = 0;
    const endless = (async function* () {
      for (;;) {
        read += 100;
        yield Buffer.alloc(100, 'x');
      }
    })();
    await expect(parseSseEvents(endless, 10_000).next()).rejects.toMatchObject({ kind: 'invalid' });
    expect(read).toBe(10_100);
  });

  it('returns the events before one that exceeds the limit', async () => {
    const events: string[] = [];
    const source = (async function* () {
      yield Buffer.from(`data: a\n\ndata: ${'x'.repeat(400)}`);
    })();
    const read = async () => {
      for await (const { data } of parseSseEvents(source, 300)) events.push(data);
    };
    await expect(read()).rejects.toMatchObject({ kind: 'invalid' });
    expect(events).toEqual(['a']);
  });
});
