import { expect } from '@jest/globals';
import { decide, DomainError, type DomainErrorKind, evolveAll, type TaskCommand, type TaskEvent } from '@app/domain';

export const NOW = '2026-01-01T00:00:00.000Z';
export const LATER = '2026-01-01T00:00:01.000Z';
export const TASK_ID = 'task-1';

/**
 * Specifies a decision: `given(pastEvents).when(command).then(newEvents | errorKind)`. Expected events list only the facts
 * that the test checks.
 */
export function given(past: readonly TaskEvent[]) {
  const state = evolveAll(null, past, NOW);
  return {
    state,
    when: (command: TaskCommand) => ({
      // oxlint-disable-next-line unicorn/no-thenable -- given-when-then is the usual form of a decider specification; the object is never awaited
      then: (expected: readonly object[] | DomainErrorKind): void => {
        if (typeof expected !== 'string') {
          expect(decide(state, TASK_ID, command, LATER)).toMatchObject(expected);
          return;
        }
        let caught: unknown;
        try {
          decide(state, TASK_ID, command, LATER);
        } catch (error) {
          caught = error;
        }
        expect(caught).toBeInstanceOf(DomainError);
        expect((caught as DomainError).kind).toBe(expected);
      },
    }),
  };
}
