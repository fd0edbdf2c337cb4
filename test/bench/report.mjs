const ms = (/** @type {number | null} */ value) => (value === null ? '-' : value.toFixed(2));
const mib = (/** @type {number} */ bytes) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

/** The results for a person. */
export function describe(/** @type {Record<string, any>} */ { throughput, memory, statements, targets }) {
  const peers = [
    ['raw inserts, 1 KiB', throughput.raw],
    ['official SDK, Postgres store', throughput.sdk],
    ['Acta', throughput.acta],
  ].map(([name, peer]) => [
    name,
    peer.perSecond.toFixed(0),
    ms(peer.p50),
    ms(peer.p95),
    ms(peer.p99),
    ms(peer.serverCpuMs ?? null),
    ms(peer.postgresCpuMs ?? null),
  ]);
  return [
    '',
    'Blocking sends, 16 connections (median of the rounds; milliseconds)',
    table(['', 'per second', 'p50', 'p95', 'p99', 'server CPU each', 'Postgres CPU each'], peers),
    `Acta to SDK ${throughput.actaToSdk.toFixed(2)}, to raw inserts ${throughput.actaToRaw.toFixed(3)}, p99 to p50 ${throughput.p99ToP50.toFixed(1)}`,
    '',
    `Resident memory of a fresh server under load: ${mib(memory.before)} before, ${mib(memory.after10s)} after 10 s, ` +
      `${mib(memory.afterAll)} after ${memory.seconds} s (${(memory.ratio * 100).toFixed(0)} %), ${memory.answered} tasks`,
    '',
    'Round trips of each command, and the statements they carry',
    table(
      ['', 'round trips', 'statements'],
      statements.map((/** @type {any} */ s) => [s.command, String(s.roundTrips), s.names.join(', ')]),
    ),
    ...targets.map((/** @type {any} */ t) => `${t.met ? 'met   ' : 'MISSED'} ${t.name}: ${t.measured.toFixed(3)}`),
  ].join('\n');
}

function table(/** @type {string[]} */ heads, /** @type {string[][]} */ rows) {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column].length)));
  const line = (/** @type {string[]} */ cells) =>
    `  ${cells.map((cell, column) => (column === 0 || column === cells.length - 1 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ')}`.trimEnd();
  return [line(heads), ...rows.map(line)].join('\n');
}
