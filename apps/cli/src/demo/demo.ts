import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStorage, verifyChains } from '@app/storage';
import { BOOTSTRAP_ADMIN } from '@app/access';
import { readTimeline, TimelineFormat } from '../output/timeline.js';
import { DemoClient } from './demo-client.js';
import { type DemoServer, startDemoServer } from './demo-server.js';
import { expectLike } from './expect-like.js';
import { DEMO_STEPS } from './steps.js';

export interface StepOutcome {
  readonly step: string;
  readonly ok: boolean;
  /** What differed. */
  readonly problem?: string;
}

/**
 * Does the round trip of every surface on a scratch server, tells each step as it goes, and leaves nothing behind. All
 * steps are tried, whatever the others find.
 */
export async function runDemo(tell: (line: string) => void, signal: AbortSignal): Promise<StepOutcome[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'acta-demo-'));
  let server: DemoServer | null = null;
  try {
    server = await startDemoServer(dataDir);
    tell(`A server on a scratch database listens on ${server.url}`);
    const client = new DemoClient(server.url, server.token);
    const tasks: { taskId: string; step: string }[] = [];
    const outcomes: StepOutcome[] = [];
    for (const { name, run } of DEMO_STEPS) {
      signal.throwIfAborted();
      const outcome = await attempt(name, () => run(client, (taskId) => tasks.push({ taskId, step: name })));
      outcomes.push(outcome);
      tell(`${outcome.ok ? '✓' : '✗'} ${name}${outcome.problem === undefined ? '' : `: ${outcome.problem}`}`);
    }
    const record = await attempt('The record: every chain is whole', () => showRecord(dataDir, tasks, tell));
    tell(`${record.ok ? '✓' : '✗'} ${record.step}${record.problem === undefined ? '' : `: ${record.problem}`}`);
    return [...outcomes, record];
  } finally {
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Beside the running server, as an operator would. */
async function showRecord(
  dataDir: string,
  tasks: readonly { taskId: string; step: string }[],
  tell: (line: string) => void,
): Promise<void> {
  const storage = await openStorage({ databaseUrl: null, dataDir, secretKey: null, maxConnections: 2 });
  try {
    for (const { taskId, step } of tasks) {
      tell('');
      tell(`Timeline of ${taskId} (${step})`);
      const format = new TimelineFormat();
      for await (const entry of readTimeline(storage.log, BOOTSTRAP_ADMIN.tenantId, taskId)) {
        tell(`  ${format.line(entry)}`);
      }
    }
    tell('');
    for await (const { breaks } of verifyChains(storage.database)) expectLike(breaks, [], 'the breaks');
  } finally {
    await storage.close();
  }
}

async function attempt(step: string, work: () => Promise<void>): Promise<StepOutcome> {
  try {
    await work();
    return { step, ok: true };
  } catch (error) {
    return { step, ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
