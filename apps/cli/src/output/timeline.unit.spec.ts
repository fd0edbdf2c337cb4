import type { RecordedEvent } from '@app/domain';
import type { StoredEvent } from '@app/storage';
import { describe, expect, it } from '@jest/globals';
import { formatSpan, summarize, TimelineFormat } from './timeline.js';

const timeAfter = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const message = (parts: object[]) => ({ messageId: 'm', role: 'user', parts });

const accepted = (parts: object[], changes: object = {}) =>
  ({
    type: 'MessageAccepted',
    facts: { messageId: 'm', parts: 1, bytes: 1 },
    content: { message: message(parts) },
    version: 2,
    recordedAt: timeAfter(0),
    ...changes,
  }) as unknown as RecordedEvent;

describe('formatSpan', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [59_999, '59.9 s'],
    [60_000, '1 m 00 s'],
    [3_599_999, '59 m 59 s'],
    [3_600_000, '1 h 00 m'],
    [90_000_000, '1 d 01 h'],
  ])('formats %d ms as "%s"', (ms, text) => {
    expect(formatSpan(ms)).toBe(text);
  });
});

describe('TimelineFormat', () => {
  it('aligns time, time since the previous event, version, type, actor and summary', () => {
    const format = new TimelineFormat();
    const stored = { actor_subject: 'alice', actor_role: 'member' } as StoredEvent;
    const lines = [
      accepted([{ text: 'hello' }]),
      accepted([{ text: 'again' }], { version: 12, recordedAt: timeAfter(1_500) }),
    ].map((event) => format.line({ stored, event }));
    expect(lines).toEqual([
      '2026-01-01 00:00:00.000Z                2  MessageAccepted         alice (member)                "hello"',
      '2026-01-01 00:00:01.500Z     +1.5 s    12  MessageAccepted         alice (member)                "again"',
    ]);
  });
});

describe('summarize', () => {
  it('quotes text and describes other parts on one short line without control characters', () => {
    expect(summarize(accepted([{ text: 'x'.repeat(1_000) }]))).toHaveLength(72);
    expect(summarize(accepted([{ text: 'line\nbreak \u009b2J' }]))).toBe('"line\\nbreak ·2J"');
    expect(summarize(accepted([{ text: 'see' }, { data: { a: 1 } }, { raw: 'AAAA', filename: 'a.bin' }]))).toBe(
      '"see" {"a":1} [a.bin, 3 bytes]',
    );
    expect(summarize(accepted([{ url: 'https://example.org/a', mediaType: 'text/plain' }]))).toBe(
      '[text/plain at https://example.org/a]',
    );
  });

  it.each([
    [null, 'attempt 2, immediately'],
    [timeAfter(0), 'attempt 2, immediately'],
    [timeAfter(-1), 'attempt 2, immediately'],
    [timeAfter(1), `attempt 2, not before ${timeAfter(1)}`],
  ])('states when a retry with the time %s can start', (notBefore, summary) => {
    const facts = { attempt: 2, dispatcherGeneration: 2, notBefore, counted: true };
    expect(summarize(accepted([], { type: 'RunRetried', facts, content: undefined }))).toBe(summary);
  });

  it('states why the content of an event is missing', () => {
    const erased = { content: undefined, missing: 'erased' };
    expect(summarize(accepted([], erased))).toBe('(erased)');
  });
});
