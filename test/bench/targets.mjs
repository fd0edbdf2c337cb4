/** @typedef {{ name: string, met: boolean, measured: string }} Target */

/**
 * What the project promises of the phases that were run, and whether it holds here.
 *
 * @returns {Target[]}
 */
export function targetsOf(
  /** @type {Record<string, any>} */ { throughput, memory, lists, streams, starts, tokens, recovery },
) {
  /** @type {Target[]} */
  const targets = [];
  const promise = (/** @type {string} */ name, /** @type {number} */ value, /** @type {boolean} */ met) =>
    targets.push({ name, met, measured: value.toFixed(3) });
  if (throughput !== undefined) {
    const { actaToSdk, actaToRaw, p99ToP50 } = throughput;
    promise('at least 3 times the official SDK', actaToSdk, actaToSdk >= 3);
    promise('at least 0.03 of raw inserts', actaToRaw, actaToRaw >= 0.03);
    promise('p99 below 10 times p50', p99ToP50, p99ToP50 < 10);
  }
  if (memory !== undefined) {
    promise('resident memory at most 1.1 times that after 10 s', memory.ratio, memory.ratio <= 1.1);
  }
  if (starts !== undefined) {
    promise('a run in another process starts within 10 ms (p50)', starts.p50, starts.p50 < 10);
    promise('a run in another process starts within 50 ms (p99)', starts.p99, starts.p99 < 50);
  }
  if (tokens !== undefined) {
    promise('the first token is read elsewhere within 50 ms (p95)', tokens.first.p95, tokens.first.p95 <= 50);
    promise('later tokens are read elsewhere within 150 ms (p95)', tokens.later.p95, tokens.later.p95 <= 150);
  }
  if (recovery !== undefined) {
    const { takenOver, handedBack } = recovery;
    // Thirty seconds of lease, and one between two looks of the reaper.
    promise('runs of a killed worker start elsewhere within lease and reaper period', takenOver, takenOver <= 31_000);
    promise('runs of a worker that is told to stop are handed back within 1 s', handedBack, handedBack <= 1_000);
  }
  if (streams !== undefined) {
    const mib = streams.peakBytes / 1024 / 1024;
    promise(
      `all ${streams.streams} streams complete and in order`,
      streams.complete,
      streams.complete === streams.streams,
    );
    promise('events are read within 250 ms of their append (p99)', streams.p99, streams.p99 < 250);
    promise('the server stays below 400 MiB', mib, mib < 400);
  }
  if (lists !== undefined) {
    const [few, many] = lists;
    const page = many.pageMs / few.pageMs;
    promise(`a page among ${many.tasks} tasks at most 2 times one among ${few.tasks}`, page, page <= 2);
    const count = many.countMs / many.bareCountMs;
    promise('the exact total at most 1.5 times a bare count', count, count <= 1.5);
    const walks = many.plan.match(/Seq Scan|Sort/g)?.length ?? 0;
    promise('no sequential scan or sort in the plan of a page', walks, walks === 0);
  }
  return targets;
}
