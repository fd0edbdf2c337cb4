import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, type RecordedEvent } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { kindOf } from '../../../../test/support/domain-errors.js';
import { Latch, ScriptedAgent, untilAborted } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import { CancelPolicy } from './cancel-task.command.js';

const alice = aMember('alice');
const ENDS = ['ReplySent', 'TaskCompleted', 'TaskFailed', 'TaskRejected', 'TaskCanceled'];

const agent = new ScriptedAgent();
const graceMs = 150;
let acta: Acta;
let first: Replica;
let second: Replica;
let strict: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  const cancel = new CancelPolicy('fence', graceMs);
  const holderOnly = new CancelPolicy('holder-only', graceMs);
  first = await acta.replica({ agents: [agent.definition], cancel });
  second = await acta.replica({ agents: [agent.definition], concurrency: 0, cancel });
  strict = await acta.replica({ agents: [agent.definition], concurrency: 0, cancel: holderOnly });
});
afterAll(() => acta?.close());

const ends = (events: readonly RecordedEvent[]) => events.filter(({ type }) => ENDS.includes(type));
const eventsOf = (taskId: string) => first.events(alice.tenantId, taskId);

/** Submits a task and returns once its script has started. */
async function running(text: string, script: Parameters<ScriptedAgent['on']>[1]): Promise<string> {
  const started = new Latch();
  agent.on(text, (ctx) => {
    started.open();
    return script(ctx);
  });
  const taskId = await first.submit(alice, text);
  await started.opened;
  return taskId;
}

describe('CancelTask', () => {
  // F18
  it('returns the task in its final state when the agent stops on its signal, on any replica', async () => {
    const taskId = await running('ends cleanly', async (ctx) => {
      await untilAborted(ctx);
      throw new Error('stopped');
    });
    const view = await second.cancel(alice, taskId);
    expect(view.state.status).toBe('canceled');
    expect(ends(await eventsOf(taskId))).toMatchObject([{ type: 'TaskCanceled', facts: { reason: 'agent' } }]);
    expect(await first.get(alice, taskId)).toEqual(view);
  });

  it('cancels the task, rather than completing it, when the agent returns after its signal aborts', async () => {
    const taskId = await running('returns on abort', untilAborted);
    expect((await first.cancel(alice, taskId)).state.status).toBe('canceled');
  });

  it('force-cancels the run of an agent that ignores its signal after the grace period', async () => {
    const latch = new Latch();
    const taskId = await running('ignores the signal', () => latch.opened);
    const view = await second.cancel(alice, taskId);
    expect(view.state.status).toBe('canceled');
    expect(ends(await eventsOf(taskId))).toMatchObject([{ type: 'TaskCanceled', facts: { reason: 'deadline' } }]);
    latch.open();
  });

  // F18: completion wins
  it('returns the completed task when the agent completes before it stops', async () => {
    const taskId = await running('completes anyway', async (ctx) => {
      await untilAborted(ctx);
      await ctx.complete('done all the same');
    });
    const view = await second.cancel(alice, taskId);
    expect(view.state.status).toBe('completed');
    expect(view.statusMessage?.parts).toEqual([{ text: 'done all the same' }]);
  });

  it('is enforced by the reaper of any replica when the canceling process has stopped', async () => {
    const latch = new Latch();
    const taskId = await running('canceling process stopped', () => latch.opened);
    const canceller = await acta.replica({ concurrency: 0, cancel: new CancelPolicy('fence', 60_000) });
    const canceling = canceller.cancel(alice, taskId);
    await first.until(alice.tenantId, taskId, (state) => state.cancelDeadline !== null);
    await acta.sql(`update run_queue set cancel_deadline = now() - interval '1 second' where task_id = $1`, [taskId]);
    await second.reaper.sweep();
    expect((await canceling).state.status).toBe('canceled');
    latch.open();
  });

  it('cancels an idle task immediately and returns a canceled task unchanged', async () => {
    agent.on('asks', (ctx) => ctx.requireInput('what?'));
    const { taskId } = await first.sendAndWait(alice, 'asks');
    const view = await second.cancel(alice, taskId);
    expect(view.state.status).toBe('canceled');
    expect(await first.cancel(alice, taskId)).toEqual(view);
    expect(ends(await eventsOf(taskId))).toHaveLength(1);
  });

  it('rejects a task that had ended before, and a task that the caller cannot access', async () => {
    const { taskId } = await first.sendAndWait(alice, 'ends by itself');
    expect(await kindOf(second.cancel(alice, taskId))).toBe('TaskNotCancelable');
    expect(await kindOf(second.cancel(aMember('bob'), taskId))).toBe('TaskNotFound');
    expect(await kindOf(second.cancel(alice, 'no such task'))).toBe('TaskNotFound');
  });

  // F17
  it('cancels the task once when messages arrive concurrently, in 10 rounds', async () => {
    for (let round = 0; round < 10; round += 1) {
      const taskId = await running(`messages and cancel ${round}`, untilAborted);
      const [view] = await Promise.all([
        second.cancel(alice, taskId),
        ...[1, 2, 3].map((n) =>
          first.submit(alice, aMessage('more', `more ${round} ${n}`), { taskId }).catch((error: unknown) => {
            expect(DomainError.is(error, 'TaskEnded')).toBe(true);
          }),
        ),
      ]);
      expect(view.state.status).toBe('canceled');
      expect(ends(await eventsOf(taskId))).toHaveLength(1);
    }
  });

  // F16, F15, F18
  it('ends the task once when it races with a completion, in 60 rounds, and both callers get the same end', async () => {
    for (let round = 0; round < 60; round += 1) {
      const latch = new Latch();
      const text = `race ${round}`;
      const started = new Latch();
      agent.on(text, async (ctx) => {
        started.open();
        await latch.opened;
        await ctx.complete('won');
      });
      const { taskId, follower } = await first.send(alice, text);
      const outcome = follower.untilOutcome();
      await started.opened;
      const canceling = second.cancel(alice, taskId).then(
        (view) => view.state.status,
        // The task ended before the cancel arrived. The error has its status.
        (error: unknown) => {
          if (!DomainError.is(error, 'TaskNotCancelable')) throw error;
          return error.details.status;
        },
      );
      // The cancel takes a read and an append. Up to 11 turns of the event loop let either side win.
      for (let turn = 0; turn < round % 12; turn += 1) await new Promise(setImmediate);
      latch.open();
      const status = await canceling;
      expect((await outcome).status).toBe(status);
      const events = await eventsOf(taskId);
      expect(ends(events)).toHaveLength(1);
      expect(ENDS).toContain(events.at(-1)!.type);
    }
  });
});

describe('CancelTask with the policy holder-only', () => {
  it('cancels an active run only for its worker with the current generations', async () => {
    let lease: Parameters<typeof strict.cancel>[2] = {};
    const latch = new Latch();
    const taskId = await running('held', (ctx) => {
      lease = { holder: ctx.lease };
      return latch.opened;
    });
    expect(await kindOf(strict.cancel(alice, taskId))).toBe('TaskNotCancelable');
    const stale = { ...lease.holder!, leaseGeneration: lease.holder!.leaseGeneration - 1 };
    expect(await kindOf(strict.cancel(alice, taskId, { holder: stale }))).toBe('TaskNotCancelable');
    const view = await strict.cancel(alice, taskId, lease);
    expect(view.state.status).toBe('canceled');
    expect(ends(await eventsOf(taskId))).toMatchObject([{ type: 'TaskCanceled', facts: { reason: 'holder' } }]);
    latch.open();
  });
});
