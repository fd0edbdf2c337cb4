import { median } from '../quantiles.mjs';
import { benchFile } from '../processes.mjs';
import { load, startActa } from '../peers/peers.mjs';

/**
 * Compares blocking sends to an agent module in a process of its own with the same sends to the module in the server. The
 * servers take turns.
 *
 * @param {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} postgres
 * @param {{ rounds: number, forMs: number }} options
 */
export async function measureIsolation(postgres, { rounds, forMs }) {
  const ACTA_AGENTS = benchFile('peers/echo.agent.mjs');
  /** @type {Record<string, Awaited<ReturnType<typeof startActa>>>} */
  const servers = {};
  /** @type {Record<string, Record<string, number>[]>} */
  const samples = { none: [], process: [] };
  try {
    for (const isolation of Object.keys(samples)) {
      const env = { ACTA_AGENTS, ACTA_AGENT_ISOLATION: isolation };
      servers[isolation] = await startActa(await postgres.database(`isolation_${isolation}`), env);
      await load(servers[isolation], { warmUpMs: 0, forMs: 3_000 }, postgres.postmaster);
    }
    for (let round = 1; round <= rounds; round += 1) {
      for (const [isolation, server] of Object.entries(servers)) {
        samples[isolation].push(await load(server, { warmUpMs: 500, forMs }, postgres.postmaster));
      }
    }
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
  const figures = (/** @type {string} */ isolation) =>
    Object.fromEntries(
      ['perSecond', 'p50', 'p99'].map((name) => [name, median(samples[isolation].map((round) => round[name]))]),
    );
  const ratio = median(samples.process.map(({ perSecond }, round) => perSecond / samples.none[round].perSecond));
  return { none: figures('none'), process: figures('process'), ratio };
}
