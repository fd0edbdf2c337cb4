import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { Lost, WorkerApi } from './worker-api.js';
import storm from '../agents/storm.agent.mjs';

/** What a remote worker says of itself: what was wrong, or what it was told of something that a run said. */
export type RemoteReport = { readonly violation: string } | Answered;

export interface Answered {
  readonly taskId: string;
  readonly runId: string;
  readonly seq: number;
  readonly as: 'recorded' | 'refused';
}

interface Claimed {
  readonly runId: string;
  readonly taskId: string;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly leaseMs: number;
  readonly version: number;
  readonly message: { readonly parts: readonly { readonly text: string }[] };
}

interface Heard {
  readonly cancelRequested: boolean;
  readonly messages: readonly { readonly version: number }[];
}

const SLOTS = 6;
const WAIT_MS = 2_000;

const report = (said: RemoteReport) => console.log(JSON.stringify(said));
const api = new WorkerApi(process.env['SERVER_URL']!, process.env['WORKER_TOKEN']!, (violation) =>
  report({ violation }),
);

/** One run, for as long as this worker holds it. */
class Run {
  private readonly lost = new AbortController();
  private readonly canceled = new AbortController();
  private seq = 0;
  private readThrough: number;

  constructor(private readonly claimed: Claimed) {
    this.readThrough = claimed.version;
  }

  async perform(): Promise<void> {
    const beating = this.beat();
    try {
      await this.finish(await this.work());
    } catch (error) {
      if (!this.lost.signal.aborted) throw error;
    } finally {
      this.lost.abort();
      await beating;
    }
  }

  /** The agent, with the same words as in a process of Acta. */
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

  private async write(what: 'publish' | 'finish', body: JsonObject): Promise<void> {
    this.seq += 1;
    const { taskId, runId } = this.claimed;
    const said = { taskId, runId, seq: this.seq };
    try {
      await this.post(what, { ...body, seq: this.seq });
      report({ ...said, as: 'recorded' });
    } catch (error) {
      if (error instanceof Lost) report({ ...said, as: 'refused' });
      throw error;
    }
  }

  private async beat(): Promise<void> {
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

  private async post(what: string, body: JsonObject): Promise<void> {
    const { runId, leaseGeneration, dispatcherGeneration } = this.claimed;
    const full = { leaseGeneration, dispatcherGeneration, readThrough: this.readThrough, ...body };
    try {
      const heard = await api.post<Heard>(`runs/${runId}/${what}`, full, this.lost.signal);
      if (heard.cancelRequested) this.canceled.abort();
      this.readThrough = Math.max(this.readThrough, ...heard.messages.map(({ version }) => version));
    } catch (error) {
      if (error instanceof Lost) this.lost.abort();
      throw error;
    }
  }
}

process.once('SIGTERM', () => process.exit(0));
console.log('a remote worker asks for work');
const active = new Set<Promise<void>>();
for (;;) {
  const limit = SLOTS - active.size;
  const { runs } = await api.post<{ runs: Claimed[] }>('workers/claim', { limit, waitMs: WAIT_MS }, undefined, WAIT_MS);
  for (const claimed of runs) {
    const work = new Run(claimed).perform().finally(() => active.delete(work));
    active.add(work);
  }
  if (active.size === SLOTS) await Promise.race(active);
}
