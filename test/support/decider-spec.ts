import { expect } from '@jest/globals';
import { decide, DomainError, type DomainErrorKind, evolveAll, type TaskCommand, type TaskEvent } from '@app/domain';

export const AT = '2026-01-01T00:00:00.000Z';
export const LATER = '2026-01-01T00:00:01.000Z';
export const TASK_ID = 'task-1';

/**
 * `given(events).when(command).then(events | error)`: what a command does to a task with this past. Expected events need
 * name only the facts that the test is about.
 */
export function given(past: readonly TaskEvent[]) {
  const state = evolveAll(null, past, AT);
  return {
    state,
    when: (command: TaskCommand) => ({
      // oxlint-disable-next-line unicorn/no-thenable -- the words of a decider's specification; nobody awaits it
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
