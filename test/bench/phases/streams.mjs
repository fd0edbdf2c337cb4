import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startActa } from '../peers/peers.mjs';
import { here, measure, residentBytes } from '../processes.mjs';
import { quantiles } from '../quantiles.mjs';

const TICKS = 10;
const SAMPLE_MS = 500;

/**
 * Open streams of as many tasks at once, ten events each at one a second: whether each reader got all of them in order,
 * how long after its append each was read, and what the server's memory came to.
 */
export async function measureStreams(
  /** @type {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} */ postgres,
  /** @type {{ streams: number }} */ { streams },
) {
  const databaseUrl = await postgres.database('streams');
  const acta = await startActa(databaseUrl, {
    ACTA_AGENTS: here('bench-agents.mjs'),
    ACTA_WORKER_CONCURRENCY: String(streams),
  });
  let peak = 0;
  const sampling = setInterval(() => {
    void residentBytes(acta.pid).then((bytes) => {
      peak = Math.max(peak, bytes);
    });
  }, SAMPLE_MS);
  try {
    const load = randomBytes(6).toString('hex');
    const { url, headers } = acta;
    const readings = await measure('stream-readers.mjs', { url, headers, streams, load });
    const appended = await appendTimes(databaseUrl);
    /** @type {number[]} */
    const latencies = [];
    let complete = 0;
    for (const { taskId, frames } of readings) {
      if (isComplete(frames)) complete += 1;
      for (const { id, at, text } of frames) {
        if (text !== undefined) latencies.push(at - (appended.get(`${taskId} ${id}`) ?? NaN));
      }
    }
    return { streams, complete, events: latencies.length, peakBytes: peak, ...quantiles(latencies) };
  } finally {
    clearInterval(sampling);
    await acta.stop();
  }
}

/** Every tick once, in order, under rising ids. */
function isComplete(/** @type {{ id: number, text?: string }[]} */ frames) {
  const ticks = frames.flatMap(({ text }) => (text?.startsWith('tick ') ? [text] : []));
  const rising = frames.every(({ id }, nth) => nth === 0 || id > frames[nth - 1].id);
  return rising && ticks.length === TICKS && ticks.every((text, nth) => text === `tick ${nth + 1}`);
}

/** When each event was recorded, as the log says. */
async function appendTimes(/** @type {string} */ databaseUrl) {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query('select task_id, version, recorded_at from event');
  await client.end();
  return new Map(rows.map((row) => [`${row.task_id} ${row.version}`, row.recorded_at.getTime()]));
}
