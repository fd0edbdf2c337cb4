import { Duplex } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LineChannel } from './line-channel.js';

/** A channel on a stream whose writes a test sees. */
function open() {
  const writes: string[] = [];
  const received: unknown[] = [];
  const invalid: string[] = [];
  let batches = 0;
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk.toString());
      done();
    },
  });
  const channel = new LineChannel<object, object>(stream, {
    onMessage: (message) => received.push(message),
    onBatchEnd: () => (batches += 1),
    onInvalid: ({ message }) => invalid.push(message),
  });
  return { channel, stream, writes, received, invalid, batches: () => batches };
}

const turn = () => new Promise(setImmediate);

describe('LineChannel', () => {
  it('writes once what is sent in one turn, with what is added before the write', async () => {
    const { channel, writes } = open();
    channel.send({ a: 1 });
    channel.onNextWrite(() => channel.send({ c: 3 }));
    channel.send({ b: 'line\nbreak' });
    await turn();
    expect(writes).toEqual(['{"a":1}\n{"b":"line\\nbreak"}\n{"c":3}\n']);
    channel.send({ d: 4 });
    channel.flush();
    await turn();
    expect(writes).toHaveLength(2);
  });

  it('receives every message once and in order, however the stream is cut', async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 10 }), cuts, async (texts, sizes) => {
        const { stream, received } = open();
        let rest = Buffer.from(texts.map((text) => `${JSON.stringify({ text })}\n`).join(''));
        for (let index = 0; rest.length > 0; index += 1) {
          const size = sizes[index % sizes.length]!;
          stream.push(rest.subarray(0, size));
          rest = rest.subarray(size);
          await turn();
        }
        expect(received).toEqual(texts.map((text) => ({ text })));
      }),
      { numRuns: 30 },
    );
  });

  it.each(['no json\n', '{"a":1}}\n', '{"cut\n'])('reports a line that is no message: %j', async (line) => {
    const { stream, invalid, received } = open();
    stream.push(line);
    await turn();
    expect(invalid).toHaveLength(1);
    expect(received).toEqual([]);
  });
});
