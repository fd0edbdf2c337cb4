import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startActa } from '../peers/peers.mjs';
import { benchFile, measure, residentBytes } from '../processes.mjs';
import { quantiles } from '../quantiles.mjs';

const TICKS = 10;
const SAMPLE_MS = 500;

/**
 * Opens streams of many tasks concurrently, with 10 events each, 1 per second. Checks that each reader got all events in order,
 * and measures the time from append to read and the peak memory of the server.
 */
export async function measureStreams(
  /** @type {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} */ postgres,
  /** @type {{ streams: number }} */ { streams },
) {
  const databaseUrl = await postgres.database('streams');
  const acta = await startActa(databaseUrl, {
    ACTA_AGENTS: benchFile('peers/bench-agents.mjs'),
    ACTA_WORKER_CONCURRENCY: String(streams),
  });
  let peak = 0;
  const sampling = setInterval(() => {
    void residentBytes(acta.pid).then((bytes) => {
      peak = Math.max(peak, bytes);
    });
  }, SAMPLE_MS);
  try {
    const prefix = randomBytes(6).toString('hex');
    const { url, headers } = acta;
    const readings = await measure('load/stream-readers.mjs', { url, headers, streams, prefix });
    const appended = await appendTimes(databaseUrl);
    /** @type {number[]} */
    const latencies = [];
    let complete = 0;
    for (const { taskId, frames } of readings) {
      if (isComplete(frames)) complete += 1;
      for (const { id, time, text } of frames) {
        if (text !== undefined) latencies.push(time - (appended.get(`${taskId} ${id}`) ?? NaN));
      }
    }
    return { streams, complete, events: latencies.length, peakBytes: peak, ...quantiles(latencies) };
  } finally {
    clearInterval(sampling);
    await acta.stop();
  }
}

/** Returns whether the frames have every tick once, in order, with ascending ids. */
function isComplete(/** @type {{ id: number, text?: string }[]} */ frames) {
  const ticks = frames.flatMap(({ text }) => (text?.startsWith('tick ') ? [text] : []));
  const isAscending = frames.every(({ id }, nth) => nth === 0 || id > frames[nth - 1].id);
  return isAscending && ticks.length === TICKS && ticks.every((text, nth) => text === `tick ${nth + 1}`);
}

/** Returns the recorded time of each event, in milliseconds since the epoch. */
async function appendTimes(/** @type {string} */ databaseUrl) {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query('select task_id, version, recorded_at from event');
  await client.end();
  return new Map(rows.map((row) => [`${row.task_id} ${row.version}`, row.recorded_at.getTime()]));
}
