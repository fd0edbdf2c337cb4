import { median } from '../quantiles.mjs';
import { load, rawInserts, startActa, startSdk } from '../peers/peers.mjs';

/**
 * Blocking sends against Acta and against the official SDK's server, and raw inserts, in turns, so that whatever else
 * the machine does meets all of them. Medians of the rounds, each peer on Postgres as it comes. Its planner takes new
 * tables for empty until autovacuum has analyzed them, which slows the SDK's server more the more tasks it has; so one
 * more round follows an ANALYZE, to be told apart.
 *
 * @param {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} postgres
 * @param {{ rounds: number, forMs: number }} options
 */
export async function compare(postgres, { rounds, forMs }, /** @type {(line: string) => void} */ log) {
  const rawUrl = await postgres.database('raw');
  const sdk = await startSdk(await postgres.database('sdk'));
  const acta = await startActa(await postgres.database('acta'));
  /** @type {Record<'raw' | 'sdk' | 'acta', Record<string, number>[]>} */
  const taken = { raw: [], sdk: [], acta: [] };
  /** @type {Record<'sdk' | 'acta', Record<string, number>> | undefined} */
  let analyzed;
  try {
    for (const server of [sdk, acta]) await load(server, { warmUpMs: 0, forMs: 3_000 }, postgres.postmaster);
    for (let round = 1; round <= rounds; round += 1) {
      const span = { warmUpMs: 1_000, forMs };
      taken.raw.push(await rawInserts(rawUrl, { ...span, warmUpMs: 500 }));
      taken.sdk.push(await load(sdk, span, postgres.postmaster));
      taken.acta.push(await load(acta, span, postgres.postmaster));
      const rates = Object.entries(taken).map(([peer, all]) => `${peer} ${all.at(-1)?.perSecond.toFixed(0)}/s`);
      log(`round ${round} of ${rounds}: ${rates.join(', ')}`);
    }
    await postgres.analyze();
    const span = { warmUpMs: 1_000, forMs };
    analyzed = { sdk: await load(sdk, span, postgres.postmaster), acta: await load(acta, span, postgres.postmaster) };
  } finally {
    await Promise.all([sdk.stop(), acta.stop()]);
  }
  const over = (/** @type {'sdk' | 'raw'} */ peer) =>
    median(taken.acta.map((acta, at) => acta.perSecond / taken[peer][at].perSecond));
  return {
    raw: medians(taken.raw),
    sdk: medians(taken.sdk),
    acta: medians(taken.acta),
    // Of rates of the same round.
    actaToSdk: over('sdk'),
    actaToRaw: over('raw'),
    analyzed,
    p99ToP50: median(taken.acta.map(({ p99, p50 }) => p99 / p50)),
  };
}

function medians(/** @type {Record<string, number>[]} */ rounds) {
  const names = Object.keys(rounds[0]).filter((name) => name !== 'answered');
  return Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))]));
}
