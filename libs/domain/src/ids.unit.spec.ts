import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { contextIdOf, derivedId, eventIdOf, newId, taskIdOf } from './ids.js';

const names = fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 4 });

describe('derivedId', () => {
  it('returns the same UUID of version 8 for the same names in every process', () => {
    // With a different value, a repeat of a message that was sent before an upgrade would create a second task.
    expect(taskIdOf('acme', 'alice', 'm1')).toBe('3d87dd71-2ead-821e-aec4-d2c6de492050');
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
      taskIdOf('acme', 'alice', 'm'),
      taskIdOf('acme', 'bob', 'm'),
      taskIdOf('other', 'alice', 'm'),
      contextIdOf('acme', 'alice', 'm'),
      eventIdOf('acme', 'alice', 'm', 0),
      eventIdOf('acme', 'alice', 'm', 1),
      newId(),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
