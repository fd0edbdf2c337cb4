import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addMessage, agentMessage, aMessage, RETRY, SUBMIT } from '../../../../test/support/tasks.js';
import { DomainError } from '../errors.js';
import type { Fence, RunOutput, TaskCommand } from './task.commands.js';
import { decide } from './task.decide.js';
import { positionEvents } from './task.causation.js';
import { evolve } from './task.evolve.js';
import type { TaskEvent } from './task.events.js';
import { activeRun, isTerminal, TASK_STATUSES, type TaskState } from './task.state.js';
import { TaskFold } from '../view/task.fold.js';
import type { RecordedEvent } from '../view/task.view.js';

const TASK = 'task-1';

const artifact = (append: boolean) =>
  fc
    .record({ artifactId: fc.constantFrom('a', 'b'), text: fc.string({ maxLength: 5 }) })
    .map(({ artifactId, text }): RunOutput => ({
      type: 'artifact',
      artifactId,
      artifact: { parts: [{ text }] },
      append,
      last: false,
    }));
const withMessage = fc
  .constantFrom(...(['input-required', 'auth-required', 'reply'] as const))
  .map((type): RunOutput => ({ type, message: agentMessage(type) }));
const ending = fc
  .constantFrom(...(['complete', 'fail', 'reject', 'canceled'] as const))
  .map((type): RunOutput => ({ type }));
const lost = fc
  .constantFrom(...(['retryable-error', 'released'] as const))
  .map((reason): RunOutput => ({ type: 'lost', reason, retry: RETRY }));
const output = fc.oneof(
  { weight: 4, arbitrary: fc.constant<RunOutput>({ type: 'status' }) },
  { weight: 3, arbitrary: artifact(false) },
  { weight: 1, arbitrary: artifact(true) },
  withMessage,
  ending,
  lost,
);

/** Creates a command for the current state; a `stale` command presents an earlier fence. */
type Step = (state: TaskState | null, second: number) => TaskCommand;

const claimOf = (second: number) => ({ runId: `run-${second}`, worker: 'w' });
const fenceOf = (state: TaskState | null): Fence => ({
  runId: state?.run?.id ?? 'none',
  leaseGeneration: state?.run?.leaseGeneration ?? 0,
  dispatcherGeneration: state?.dispatcherGeneration ?? 0,
});
const staleFence = (state: TaskState | null): Fence => {
  const fence = fenceOf(state);
  return { ...fence, leaseGeneration: fence.leaseGeneration - 1 };
};

const step: fc.Arbitrary<{ stale: boolean; make: Step }> = fc.oneof(
  fc.boolean().map((claimed) => ({
    stale: false,
    make: (_: TaskState | null, second: number): TaskCommand =>
      addMessage(aMessage(`m${second}`), claimed ? { claim: claimOf(second) } : {}),
  })),
  fc.constant({
    stale: false,
    make: (_: TaskState | null, second: number): TaskCommand => ({ type: 'ClaimRun', claim: claimOf(second) }),
  }),
  {
    weight: 6,
    arbitrary: fc
      .record({ outputs: fc.array(output, { minLength: 1, maxLength: 3 }), stale: fc.boolean(), read: fc.boolean() })
      .map(({ outputs, stale, read }) => ({
        stale,
        make: (state: TaskState | null): TaskCommand => ({
          type: 'RecordRun',
          fence: stale ? staleFence(state) : fenceOf(state),
          seq: (state?.run?.seq ?? 0) + 1,
          readThrough: read ? (state?.version ?? 0) : 0,
          outputs,
        }),
      })),
  },
  fc.boolean().map((stale) => ({
    stale,
    make: (state: TaskState | null): TaskCommand => ({
      type: 'LoseRun',
      fence: stale ? staleFence(state) : fenceOf(state),
      reason: 'lease-expired',
      retry: RETRY,
    }),
  })),
  fc.constantFrom(...(['fence', 'holder-only'] as const)).map((policy) => ({
    stale: false,
    make: (): TaskCommand => ({ type: 'CancelTask', policy, deadline: timeOf(1_000) }),
  })),
  fc.boolean().map((due) => ({
    stale: false,
    make: (): TaskCommand => ({ type: 'EnforceCancel', now: timeOf(due ? 2_000 : 0) }),
  })),
);

const timeOf = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();

interface History {
  state: TaskState;
  events: RecordedEvent[];
  causes: (string | null)[];
}

/** Applies the steps, and checks the invariants after each step. */
function applySteps(steps: readonly { stale: boolean; make: Step }[]): History {
  let state: TaskState | null = null;
  const events: RecordedEvent[] = [];
  const causes: (string | null)[] = [];
  const run = (command: TaskCommand, second: number): readonly TaskEvent[] => {
    let decided: readonly TaskEvent[];
    try {
      decided = decide(state, TASK, command, timeOf(second));
    } catch (error) {
      if (error instanceof DomainError) return [];
      throw error;
    }
    if (decided.length === 0) return decided;
    const eventIds = decided.map((_, ordinal) => `event ${events.length + ordinal + 1}`);
    const positioned = positionEvents(state, decided, { recordedAt: timeOf(second), eventIds });
    for (const event of positioned.events) {
      state = evolve(state, event, event);
      expect(state.version).toBe(events.length + 1);
      events.push(event);
    }
    causes.push(...positioned.causes);
    expect(state).toEqual(positioned.after);
    return decided;
  };
  run(SUBMIT, 0);
  steps.forEach(({ stale, make }, index) => {
    const before = state!;
    const decided = run(make(before, index + 1), index + 1);
    if (stale) expect(decided).toEqual([]);
    if (isTerminal(before.status)) expect(decided).toEqual([]);
    if (activeRun(before) !== null && activeRun(state!) !== null) {
      expect(activeRun(state!)!.id).toBe(activeRun(before)!.id);
    }
  });
  return { state: state!, events, causes };
}

const histories = fc.array(step, { maxLength: 40 }).map(applySteps);
const ENDS = ['ReplySent', 'TaskCompleted', 'TaskFailed', 'TaskRejected', 'TaskCanceled'];

describe('any sequence of commands to a task', () => {
  it('numbers the events without gaps, ends the task at most once, and adds nothing after the end or with a stale fence', () => {
    fc.assert(
      fc.property(histories, ({ state, events }) => {
        events.forEach((event, index) => expect(event.version).toBe(index + 1));
        const ends = events.filter((event) => ENDS.includes(event.type));
        expect(ends).toHaveLength(isTerminal(state.status) ? 1 : 0);
        if (ends.length > 0) expect(events.at(-1)).toBe(ends[0]);
      }),
      { numRuns: 500 },
    );
  });

  it('leads to the state and the messages that a fold of its events returns', () => {
    fc.assert(
      fc.property(histories, ({ state, events }) => {
        const fold = new TaskFold('acme', TASK);
        for (const event of JSON.parse(JSON.stringify(events)) as RecordedEvent[]) fold.add(event);
        expect(fold.state).toEqual(state);
        const { history, statusMessage } = fold.view();
        const messages = events.filter((event) => event.content?.message !== undefined);
        expect(history).toHaveLength(messages.length - (statusMessage === undefined ? 0 : 1));
      }),
      { numRuns: 200 },
    );
  });

  it('increments each generation by at most one per event and never decrements it', () => {
    fc.assert(
      fc.property(histories, ({ events }) => {
        let before: TaskState | null = null;
        for (const event of events) {
          const after: TaskState = evolve(before, event, event);
          for (const generation of ['leaseGeneration', 'dispatcherGeneration'] as const) {
            const increment = after[generation] - (before?.[generation] ?? after[generation]);
            expect([0, 1]).toContain(increment);
          }
          before = after;
        }
      }),
      { numRuns: 200 },
    );
  });

  it('names an earlier event of the task as the cause of an event, or none', () => {
    fc.assert(
      fc.property(histories, ({ events, causes }) => {
        causes.forEach((cause, index) => {
          const earlier = events.slice(0, index).map(({ eventId }) => eventId);
          if (cause !== null) expect(earlier).toContain(cause);
        });
      }),
      { numRuns: 200 },
    );
  });

  it('reaches every status', () => {
    const seen = new Set<string>();
    for (const { state } of fc.sample(histories, { numRuns: 2_000, seed: 1 })) seen.add(state.status);
    expect([...seen].sort()).toEqual([...TASK_STATUSES].sort());
  });
});
