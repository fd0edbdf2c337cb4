import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyChains } from '@app/audit';
import { openStorage } from '@app/storage';
import { TaskReader } from '@app/tasks';
import { BOOTSTRAP_ADMIN } from '@app/access';
import { readTimeline, TimelineFormat } from '../output/timeline.js';
import { DemoClient } from './demo-client.js';
import { type DemoServer, startDemoServer } from './demo-server.js';
import { expectMatch } from './expect-match.js';
import { DEMO_STEPS } from './steps.js';

export interface StepOutcome {
  readonly step: string;
  readonly ok: boolean;
  /** The mismatch or error of a failed step. */
  readonly problem?: string;
}

/**
 * Runs every step against a temporary server and reports each result with `log`, also after a failed step. Removes the server
 * and its data at the end.
 */
export async function runDemo(log: (line: string) => void, signal: AbortSignal): Promise<StepOutcome[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'acta-demo-'));
  let server: DemoServer | null = null;
  try {
    server = await startDemoServer(dataDir);
    log(`Server on a temporary database: ${server.url}`);
    const client = new DemoClient(server.url, server.token);
    const tasks: { taskId: string; step: string }[] = [];
    const outcomes: StepOutcome[] = [];
    for (const { name, run } of DEMO_STEPS) {
      signal.throwIfAborted();
      const outcome = await attempt(name, () => run(client, (taskId) => tasks.push({ taskId, step: name })));
      outcomes.push(outcome);
      log(describeOutcome(outcome));
    }
    const audit = await attempt('Audit: every chain is valid', () => printAndVerify(dataDir, tasks, log));
    log(describeOutcome(audit));
    return [...outcomes, audit];
  } finally {
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const describeOutcome = ({ step, ok, problem }: StepOutcome): string =>
  `${ok ? '✓' : '✗'} ${step}${problem === undefined ? '' : `: ${problem}`}`;

/** Prints the timelines and verifies the hash chains on the database of the running server. */
async function printAndVerify(
  dataDir: string,
  tasks: readonly { taskId: string; step: string }[],
  log: (line: string) => void,
): Promise<void> {
  const storage = await openStorage({
    databaseUrl: null,
    ownerDatabaseUrl: null,
    dataDir,
    secretKey: null,
    maxConnections: 2,
  });
  try {
    for (const { taskId, step } of tasks) {
      log('');
      log(`Timeline of ${taskId} (${step})`);
      const format = new TimelineFormat();
      for await (const entry of readTimeline(TaskReader.create(storage), BOOTSTRAP_ADMIN.tenantId, taskId)) {
        log(`  ${format.line(entry)}`);
      }
    }
    log('');
    for await (const { breaks } of verifyChains(storage.database)) expectMatch(breaks, [], 'breaks');
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
