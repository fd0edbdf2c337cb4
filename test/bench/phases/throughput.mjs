import { median } from '../quantiles.mjs';
import { load, rawInserts, startActa, startSdk } from '../peers/peers.mjs';

/**
 * Compares blocking sends to Acta, blocking sends to the server of the official SDK, and raw inserts. The peers take turns, so
 * that other load on the machine affects all of them, and the results are medians of the rounds. The planner assumes that new
 * tables are empty until autovacuum has analyzed them, which slows the SDK's server down as its tables grow. An additional
 * round after ANALYZE shows the rates without that effect.
 *
 * @param {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} postgres
 * @param {{ rounds: number, forMs: number }} options
 */
export async function compare(postgres, { rounds, forMs }, /** @type {(line: string) => void} */ log) {
  const rawUrl = await postgres.database('raw');
  const sdk = await startSdk(await postgres.database('sdk'));
  const acta = await startActa(await postgres.database('acta'));
  /** @type {Record<'raw' | 'sdk' | 'acta', Record<string, number>[]>} */
  const samples = { raw: [], sdk: [], acta: [] };
  /** @type {Record<'sdk' | 'acta', Record<string, number>> | undefined} */
  let analyzed;
  try {
    for (const server of [sdk, acta]) await load(server, { warmUpMs: 0, forMs: 3_000 }, postgres.postmaster);
    for (let round = 1; round <= rounds; round += 1) {
      const span = { warmUpMs: 1_000, forMs };
      samples.raw.push(await rawInserts(rawUrl, { ...span, warmUpMs: 500 }));
      samples.sdk.push(await load(sdk, span, postgres.postmaster));
      samples.acta.push(await load(acta, span, postgres.postmaster));
      const rates = Object.entries(samples).map(([peer, all]) => `${peer} ${all.at(-1)?.perSecond.toFixed(0)}/s`);
      log(`round ${round} of ${rounds}: ${rates.join(', ')}`);
    }
    await postgres.analyze();
    const span = { warmUpMs: 1_000, forMs };
    analyzed = { sdk: await load(sdk, span, postgres.postmaster), acta: await load(acta, span, postgres.postmaster) };
  } finally {
    await Promise.all([sdk.stop(), acta.stop()]);
  }
  const ratioTo = (/** @type {'sdk' | 'raw'} */ peer) =>
    median(samples.acta.map((acta, round) => acta.perSecond / samples[peer][round].perSecond));
  return {
    raw: medians(samples.raw),
    sdk: medians(samples.sdk),
    acta: medians(samples.acta),
    // The ratios are of rates of the same round.
    actaToSdk: ratioTo('sdk'),
    actaToRaw: ratioTo('raw'),
    analyzed,
    p99ToP50: median(samples.acta.map(({ p99, p50 }) => p99 / p50)),
  };
}

function medians(/** @type {Record<string, number>[]} */ rounds) {
  const names = Object.keys(rounds[0]).filter((name) => name !== 'responses');
  return Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))]));
}
