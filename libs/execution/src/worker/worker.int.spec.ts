import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TaskView } from '@app/domain';
import { Acta } from '../../../../test/support/acta.js';
import { anAgent } from '../../../../test/support/replica-agents.js';
import { ScriptedAgent, untilAborted } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
let acta: Acta;

beforeEach(async () => {
  acta = await Acta.open();
});
afterEach(() => acta?.close());

describe('Worker', () => {
  it('releases its runs when it stops, so that a different worker claims them immediately in the same attempt', async () => {
    const agent = new ScriptedAgent();
    const stopping = await acta.replica({ agents: [agent.definition] });
    const attempts: number[] = [];
    agent.on('released', (ctx) => {
      attempts.push(ctx.attempt);
      return attempts.length === 1 ? untilAborted(ctx) : ctx.complete();
    });
    const taskId = await stopping.submit(alice, 'released');
    await stopping.until(alice.tenantId, taskId, () => attempts.length === 1);
    const next = await acta.replica({ agents: [agent.definition] });
    await stopping.close();
    await next.until(alice.tenantId, taskId, ({ status }) => status === 'completed');
    expect(attempts).toEqual([1, 1]);
    await next.close();
  });

  it("never exceeds an agent's own concurrency, even for a message that arrives during a claim", async () => {
    let running = 0;
    let maximum = 0;
    const narrow = anAgent(
      async () => {
        running += 1;
        maximum = Math.max(maximum, running);
        await new Promise((resolve) => setTimeout(resolve, 30));
        running -= 1;
      },
      { name: 'narrow', concurrency: 1 },
    );
    const api = await acta.replica({ agents: [narrow], concurrency: 0 });
    const worker = await acta.replica({ agents: [narrow], concurrency: 8 });
    const duringClaims: Promise<TaskView>[] = [];
    const lockWaiting = worker.queue.lockWaiting.bind(worker.queue);
    worker.queue.lockWaiting = async (...args) => {
      const tasks = await lockWaiting(...args);
      if (tasks.length === 0) return tasks;
      duringClaims.push(worker.sendAndWait(alice, `during claim ${duringClaims.length}`));
      const { follower } = await worker.send(alice, `slot ${duringClaims.length}`);
      follower.close();
      if (duringClaims.length > 10) worker.queue.lockWaiting = lockWaiting;
      return tasks;
    };
    const asked = Array.from({ length: 10 }, (_, n) => api.sendAndWait(alice, `narrow ${n}`));
    for (const view of await Promise.all(asked)) expect(view.state.status).toBe('completed');
    await Promise.all(duringClaims);
    expect(maximum).toBe(1);
    await worker.close(1_000);
  });
});
