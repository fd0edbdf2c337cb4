import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { evolveAll } from '@app/domain';
import type { TaskWriter } from '@app/tasks';
import { NEVER } from 'rxjs';
import { anAgent } from '../../../../test/support/replica-agents.js';
import { aServerKeys, recorded, RUNNING } from '../../../../test/support/tasks.js';
import { Agents } from '../agents/agents.js';
import { Run, type RunServices } from './run.js';

const TIME = '2026-01-01T00:00:00.000Z';

describe('Run', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('waits for a canceled agent until the cancel deadline of the task, and for a fenced agent for 30 s', async () => {
    const commands: unknown[] = [];
    const apply = async (_: unknown, command: unknown) => {
      commands.push(command);
      throw new Error('nothing may be recorded');
    };
    const writer = { apply, wakeups: { changes: () => NEVER } } as unknown as TaskWriter;
    const services = {
      writer,
      database: { keys: aServerKeys() },
      failures: { report: () => undefined },
    } as unknown as RunServices;
    const head = { state: evolveAll(null, RUNNING, TIME)!, hash: Buffer.alloc(32), key: null };
    const events = recorded(RUNNING, TIME);
    const stubborn = anAgent(() => new Promise<void>(() => undefined));
    const policy = { attempts: 1, backoffMs: 1 };
    const agent = Agents.of([stubborn], policy).loaded(stubborn.name);
    const run = new Run(agent, { tenantId: 'acme', taskId: 'task-1', head, events }, services, 3_600_000);
    let over = false;
    const executing = run.execute().then(() => (over = true));

    await jest.advanceTimersByTimeAsync(1_000);
    run.cancel();
    await jest.advanceTimersByTimeAsync(200_000);
    expect(over).toBe(false);
    run.markLost();
    await jest.advanceTimersByTimeAsync(30_000);
    await executing;
    expect(commands).toEqual([]);
  });
});
