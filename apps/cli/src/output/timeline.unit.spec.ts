import type { RecordedEvent } from '@app/domain';
import type { StoredEvent } from '@app/storage';
import { expect, it } from '@jest/globals';
import { formatSpan, gistOf, TimelineFormat } from './timeline.js';

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const message = (parts: object[]) => ({ messageId: 'm', role: 'user', parts });

const accepted = (parts: object[], changes: object = {}) =>
  ({
    type: 'MessageAccepted',
    facts: { messageId: 'm', parts: 1, bytes: 1 },
    content: { message: message(parts) },
    version: 2,
    recordedAt: at(0),
    ...changes,
  }) as unknown as RecordedEvent;

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_999, '59.9 s'],
  [60_000, '1 m 00 s'],
  [3_599_999, '59 m 59 s'],
  [3_600_000, '1 h 00 m'],
  [90_000_000, '1 d 01 h'],
])('writes %d ms as %s', (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});

it('lines up time, time since the event before, version, type, actor and gist', () => {
  const format = new TimelineFormat();
  const stored = { actor_subject: 'alice', actor_role: 'member' } as StoredEvent;
  const lines = [
    accepted([{ text: 'hello' }]),
    accepted([{ text: 'again' }], { version: 12, recordedAt: at(1_500) }),
  ].map((event) => format.line({ stored, event }));
  expect(lines).toEqual([
    '2026-01-01 00:00:00.000Z                2  MessageAccepted         alice (member)                "hello"',
    '2026-01-01 00:00:01.500Z     +1.5 s    12  MessageAccepted         alice (member)                "again"',
  ]);
});

it('tells what an event says in a few harmless words', () => {
  expect(gistOf(accepted([{ text: 'x'.repeat(1_000) }]))).toHaveLength(72);
  expect(gistOf(accepted([{ text: 'line\nbreak \u009b2J' }]))).toBe('"line\\nbreak ·2J"');
  expect(gistOf(accepted([{ text: 'see' }, { data: { a: 1 } }, { raw: 'AAAA', filename: 'a.bin' }]))).toBe(
    '"see" {"a":1} [a.bin, 3 bytes]',
  );
  expect(gistOf(accepted([{ url: 'https://example.org/a', mediaType: 'text/plain' }]))).toBe(
    '[text/plain at https://example.org/a]',
  );
});

it('says so when content is gone', () => {
  const gone = { content: undefined, missing: 'erased' };
  expect(gistOf(accepted([], gone))).toBe('(erased)');
});
