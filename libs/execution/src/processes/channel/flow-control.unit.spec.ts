import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FlowControl } from './flow-control.js';
import { WINDOW_BYTES } from './protocol.js';

describe('FlowControl', () => {
  it('sends every line once and in order, with at most 256 KiB unacknowledged unless one line is longer', () => {
    const lines = fc.array(fc.nat({ max: 2 * WINDOW_BYTES }), { maxLength: 20 });
    const acknowledgements = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 20 });
    fc.assert(
      fc.property(lines, acknowledgements, (sizes, counts) => {
        const sent: string[] = [];
        let acknowledged = 0;
        const flow = new FlowControl((line) => {
          sent.push(line);
          const open = sent.slice(acknowledged).map((waiting) => Buffer.byteLength(waiting));
          if (open.length > 1) expect(open.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(WINDOW_BYTES);
        });
        const all = sizes.map((size, index) => `${index}:`.padEnd(size, 'x'));
        for (const line of all) void flow.send(line);
        for (const count of [...counts, ...all.map(() => 1)]) {
          const bounded = Math.min(count, sent.length - acknowledged);
          acknowledged += bounded;
          flow.acknowledge(bounded);
        }
        expect(sent).toEqual(all);
      }),
    );
  });

  it('resolves a send when the line is sent, and an awaited send when the line is acknowledged', async () => {
    const order: string[] = [];
    const flow = new FlowControl(() => undefined);
    const large = 'x'.repeat(WINDOW_BYTES);
    void flow.send(large).then(() => order.push('first sent'));
    void flow.sendAndAwait('second').then(() => order.push('second acknowledged'));
    void flow.send('third').then(() => order.push('third sent'));
    await new Promise(setImmediate);
    expect(order).toEqual(['first sent']);
    flow.acknowledge(1);
    await new Promise(setImmediate);
    expect(order).toEqual(['first sent', 'third sent']);
    flow.acknowledge(2);
    await new Promise(setImmediate);
    expect(order).toEqual(['first sent', 'third sent', 'second acknowledged']);
  });
});
