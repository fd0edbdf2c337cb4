/** @typedef {{ name: string, met: boolean, measured: string }} Target */

/**
 * Compares the results of the phases with their targets.
 *
 * @returns {Target[]}
 */
export function targetsOf(
  /** @type {Record<string, any>} */ { throughput, memory, lists, streams, starts, tokens, recovery },
) {
  /** @type {Target[]} */
  const targets = [];
  const addTarget = (/** @type {string} */ name, /** @type {number} */ value, /** @type {boolean} */ met) =>
    targets.push({ name, met, measured: value.toFixed(3) });
  if (throughput !== undefined) {
    const { actaToSdk, actaToRaw, p99ToP50 } = throughput;
    addTarget('at least 3 times the official SDK', actaToSdk, actaToSdk >= 3);
    addTarget('at least 0.03 of raw inserts', actaToRaw, actaToRaw >= 0.03);
    addTarget('p99 below 10 times p50', p99ToP50, p99ToP50 < 10);
  }
  if (memory !== undefined) {
    addTarget('resident memory is at most 1.1 times its value after 10 s', memory.ratio, memory.ratio <= 1.1);
  }
  if (starts !== undefined) {
    addTarget('a run in another process starts within 10 ms (p50)', starts.p50, starts.p50 < 10);
    addTarget('a run in another process starts within 50 ms (p99)', starts.p99, starts.p99 < 50);
  }
  if (tokens !== undefined) {
    addTarget(
      'the first token is read in a different process within 50 ms (p95)',
      tokens.first.p95,
      tokens.first.p95 <= 50,
    );
    addTarget(
      'later tokens are read in a different process within 150 ms (p95)',
      tokens.later.p95,
      tokens.later.p95 <= 150,
    );
  }
  if (recovery !== undefined) {
    const { restartedAfterKill, released } = recovery;
    // The lease is 30 s, and the period of the reaper is 1 s.
    addTarget(
      'runs of a killed worker restart within the lease and the reaper period',
      restartedAfterKill,
      restartedAfterKill <= 31_000,
    );
    addTarget('runs of a worker that gets SIGTERM are released within 1 s', released, released <= 1_000);
  }
  if (streams !== undefined) {
    const mib = streams.peakBytes / 1024 / 1024;
    addTarget(
      `all ${streams.streams} streams are complete and in order`,
      streams.complete,
      streams.complete === streams.streams,
    );
    addTarget('events are read within 250 ms of their append (p99)', streams.p99, streams.p99 < 250);
    addTarget('the server stays below 400 MiB', mib, mib < 400);
  }
  if (lists !== undefined) {
    const [few, many] = lists;
    const page = many.pageMs / few.pageMs;
    addTarget(`a page among ${many.tasks} tasks at most 2 times one among ${few.tasks}`, page, page <= 2);
    const count = many.countMs / many.bareCountMs;
    addTarget('the exact total at most 1.5 times a bare count', count, count <= 1.5);
    const scans = many.plan.match(/Seq Scan|Sort/g)?.length ?? 0;
    addTarget('no sequential scan or sort in the plan of a page', scans, scans === 0);
  }
  return targets;
}
