import { setTimeout as sleep } from 'node:timers/promises';
import { load, startActa } from '../peers/peers.mjs';
import { residentBytes } from '../processes.mjs';
import { median } from '../quantiles.mjs';

const SAMPLE_MS = 200;
/** Garbage collection changes single samples, so each value is the median of the samples in this window before it. */
const WINDOW_MS = 4_000;

/** Measures the resident memory of a new server under load, after 10 s and at the end. */
export async function watchMemory(
  /** @type {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} */ postgres,
  /** @type {{ forMs: number }} */ { forMs },
) {
  const acta = await startActa(await postgres.database('memory'));
  /** @type {{ timeMs: number, bytes: number }[]} */
  const samples = [];
  const start = performance.now();
  const since = () => performance.now() - start;
  const before = await residentBytes(acta.pid);
  try {
    let loading = true;
    const loaded = load(acta, { warmUpMs: 0, forMs }, postgres.postmaster).finally(() => (loading = false));
    while (loading && since() < forMs) {
      samples.push({ timeMs: since(), bytes: await residentBytes(acta.pid) });
      await sleep(SAMPLE_MS);
    }
    const result = await loaded;
    const bytesAt = (/** @type {number} */ ms) =>
      median(samples.filter(({ timeMs }) => timeMs > ms - WINDOW_MS && timeMs <= ms).map(({ bytes }) => bytes));
    const [early, late] = [bytesAt(10_000), bytesAt(forMs)];
    return { ...result, seconds: forMs / 1000, before, after10s: early, afterAll: late, ratio: late / early };
  } finally {
    await acta.stop();
  }
}
