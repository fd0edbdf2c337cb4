import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { RunLost, WorkerApi } from './worker-api.js';
import storm from '../agents/storm.agent.mjs';

/** A line that this program prints: a violation, or the response to a write of a run. */
export type WorkerReport = { readonly violation: string } | WriteReport;

export interface WriteReport {
  readonly taskId: string;
  readonly runId: string;
  readonly seq: number;
  readonly outcome: 'recorded' | 'rejected';
}

interface ClaimedRun {
  readonly runId: string;
  readonly taskId: string;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly leaseMs: number;
  readonly version: number;
  readonly message: { readonly parts: readonly { readonly text: string }[] };
}

interface WriteResponse {
  readonly cancelRequested: boolean;
  readonly messages: readonly { readonly version: number }[];
}

const SLOTS = 6;
const WAIT_MS = 2_000;

const print = (report: WorkerReport) => console.log(JSON.stringify(report));
const api = new WorkerApi(process.env['SERVER_URL']!, process.env['WORKER_TOKEN']!, (violation) =>
  print({ violation }),
);

/** One run, while this worker holds its lease. */
class Run {
  private readonly lost = new AbortController();
  private readonly canceled = new AbortController();
  private seq = 0;
  private readThrough: number;

  constructor(private readonly claimed: ClaimedRun) {
    this.readThrough = claimed.version;
  }

  async perform(): Promise<void> {
    const heartbeats = this.sendHeartbeats();
    try {
      await this.finish(await this.work());
    } catch (error) {
      if (!this.lost.signal.aborted) throw error;
    } finally {
      this.lost.abort();
      await heartbeats;
    }
  }

  /** Runs the same agent code as a process of Acta. */
  private async work(): Promise<JsonObject> {
    const started = new Set<string>();
    let outcome: JsonObject = { type: 'complete' };
    try {
      await storm.run({
        text: this.claimed.message.parts[0]!.text,
        signal: AbortSignal.any([this.lost.signal, this.canceled.signal]),
        working: (text: string) => this.publish({ type: 'working', message: { parts: [{ text }] } }),
        artifact: (chunk: { id: string; parts: { text: string }[]; last: boolean }) => {
          const append = started.has(chunk.id);
          started.add(chunk.id);
          return this.publish({ type: 'artifact', ...chunk, append });
        },
        requireInput: async (text: string) => {
          outcome = { type: 'requireInput', message: { parts: [{ text }] } };
        },
      });
      return outcome;
    } catch (error) {
      if (this.canceled.signal.aborted && !this.lost.signal.aborted) return { type: 'canceled' };
      throw error;
    }
  }

  private publish(output: JsonObject): Promise<void> {
    return this.write('publish', { outputs: [output] });
  }

  private finish(outcome: JsonObject): Promise<void> {
    return this.write('finish', { outcome });
  }

  private async write(operation: 'publish' | 'finish', body: JsonObject): Promise<void> {
    this.seq += 1;
    const { taskId, runId } = this.claimed;
    const write = { taskId, runId, seq: this.seq };
    try {
      await this.post(operation, { ...body, seq: this.seq });
      print({ ...write, outcome: 'recorded' });
    } catch (error) {
      if (error instanceof RunLost) print({ ...write, outcome: 'rejected' });
      throw error;
    }
  }

  private async sendHeartbeats(): Promise<void> {
    const { signal } = this.lost;
    try {
      for (;;) {
        await delay(this.claimed.leaseMs / 3, undefined, { signal });
        await this.post('heartbeat', {});
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private async post(operation: string, body: JsonObject): Promise<void> {
    const { runId, leaseGeneration, dispatcherGeneration } = this.claimed;
    const request = { leaseGeneration, dispatcherGeneration, readThrough: this.readThrough, ...body };
    try {
      const response = await api.post<WriteResponse>(`runs/${runId}/${operation}`, request, this.lost.signal);
      if (response.cancelRequested) this.canceled.abort();
      this.readThrough = Math.max(this.readThrough, ...response.messages.map(({ version }) => version));
    } catch (error) {
      if (error instanceof RunLost) this.lost.abort();
      throw error;
    }
  }
}

process.once('SIGTERM', () => process.exit(0));
console.log('the worker claims runs');
const active = new Set<Promise<void>>();
for (;;) {
  const limit = SLOTS - active.size;
  const { runs } = await api.post<{ runs: ClaimedRun[] }>(
    'workers/claim',
    { limit, waitMs: WAIT_MS },
    undefined,
    WAIT_MS,
  );
  for (const claimed of runs) {
    const work = new Run(claimed).perform().finally(() => active.delete(work));
    active.add(work);
  }
  if (active.size === SLOTS) await Promise.race(active);
}
