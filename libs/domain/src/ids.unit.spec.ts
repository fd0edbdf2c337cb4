import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { derivedId, eventIdOf, newId, taskIdsOf } from './ids.js';

const KEY = Buffer.alloc(32, 1);
const names = fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 4 });

describe('derivedId', () => {
  it('returns the same UUID of version 8 for the same names in every process', () => {
    // With a different value, a command that is repeated after an upgrade would be recorded twice.
    expect(eventIdOf('acme', 'task-1', 'command-1', 0)).toBe('6b968a70-dd8a-87e6-927f-efdd4d8208ec');
    fc.assert(
      fc.property(names, (some) => {
        expect(derivedId(...some)).toBe(derivedId(...some));
        expect(derivedId(...some)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }),
    );
  });

  it('returns different ids for different names, and for names that differ only in their boundaries', () => {
    expect(derivedId('ab', 'c')).not.toBe(derivedId('a', 'bc'));
    expect(derivedId('a', '')).not.toBe(derivedId('a'));
    fc.assert(
      fc.property(names, names, (one, other) => {
        fc.pre(JSON.stringify(one.map(String)) !== JSON.stringify(other.map(String)));
        expect(derivedId(...one)).not.toBe(derivedId(...other));
      }),
    );
  });

  // F3
  it('returns ids that differ by tenant, caller and kind of object', () => {
    const ids = [
      ...Object.values(taskIdsOf(KEY, 'acme', 'alice', 'm')),
      ...Object.values(taskIdsOf(KEY, 'acme', 'bob', 'm')),
      ...Object.values(taskIdsOf(KEY, 'other', 'alice', 'm')),
      eventIdOf('acme', 'alice', 'm', 0),
      eventIdOf('acme', 'alice', 'm', 1),
      newId(),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('taskIdsOf', () => {
  it('returns the same UUIDs of version 8 for the same key, caller and message in every process', () => {
    // With different values, a repeat of a message that was sent before an upgrade would create a second task.
    expect(taskIdsOf(KEY, 'acme', 'alice', 'm1')).toEqual({
      taskId: 'ed111eb1-9272-849f-abfb-09ef229e8a5b',
      contextId: '83d85bc6-f08a-8920-9606-ce6951f87ae7',
    });
    fc.assert(
      fc.property(fc.string(), (messageId) => {
        const ids = taskIdsOf(KEY, 'acme', 'alice', messageId);
        expect(taskIdsOf(KEY, 'acme', 'alice', messageId)).toEqual(ids);
        for (const id of Object.values(ids)) {
          expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        }
      }),
    );
  });

  it('returns ids that cannot be computed without the key', () => {
    const [one, other] = [KEY, Buffer.alloc(32, 2)].map((key) => taskIdsOf(key, 'acme', 'alice', 'm1'));
    const ids = [...Object.values(one!), ...Object.values(other!), derivedId('task', 'acme', 'alice', 'm1')];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
