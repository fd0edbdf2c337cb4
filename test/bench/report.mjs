const ms = (/** @type {number | null} */ value) => (value === null ? '-' : value.toFixed(2));
const seconds = (/** @type {number} */ value) => `${(value / 1000).toFixed(2)} s`;
const mib = (/** @type {number} */ bytes) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

/** Formats the results as text. */
export function describe(
  /** @type {Record<string, any>} */ {
    throughput,
    memory,
    statements,
    lists,
    streams,
    starts,
    tokens,
    recovery,
    webhooks,
    access,
    isolation,
    scans,
    targets,
  },
) {
  const sections = [
    ...(throughput === undefined ? [] : [describeThroughput(throughput)]),
    ...(memory === undefined ? [] : [describeMemory(memory)]),
    ...(statements === undefined ? [] : [describeStatements(statements)]),
    ...(starts === undefined ? [] : [describeLatency(starts, tokens)]),
    ...(recovery === undefined ? [] : [describeRecovery(recovery)]),
    ...(webhooks === undefined ? [] : [describeWebhooks(webhooks)]),
    ...(isolation === undefined ? [] : [describeIsolation(isolation)]),
    ...(access === undefined ? [] : [describeAccess(access)]),
    ...(scans === undefined ? [] : [describeScans(scans)]),
    ...(streams === undefined ? [] : [describeStreams(streams)]),
    ...(lists === undefined ? [] : [describeLists(lists)]),
    targets
      .map(
        (/** @type {import('./targets.mjs').Target} */ t) => `${t.met ? 'met   ' : 'MISSED'} ${t.name}: ${t.measured}`,
      )
      .join('\n'),
  ];
  return `\n${sections.join('\n\n')}`;
}

function describeThroughput(/** @type {any} */ { raw, sdk, acta, actaToSdk, actaToRaw, p99ToP50, analyzed }) {
  const rows = Object.entries({ 'raw inserts, 1 KiB': raw, 'official SDK, Postgres store': sdk, Acta: acta }).map(
    ([name, peer]) => [
      name,
      peer.perSecond.toFixed(0),
      ...[peer.p50, peer.p95, peer.p99, peer.serverCpuMs ?? null, peer.postgresCpuMs ?? null].map(ms),
    ],
  );
  return [
    'Blocking sends on 16 connections: medians of the rounds, in milliseconds',
    table(['', 'per second', 'p50', 'p95', 'p99', 'server CPU per send', 'Postgres CPU per send'], rows),
    `  Ratio of Acta to the SDK ${actaToSdk.toFixed(2)}, to raw inserts ${actaToRaw.toFixed(3)}; p99 to p50 ${p99ToP50.toFixed(1)}`,
    `  After ANALYZE: official SDK ${analyzed.sdk.perSecond.toFixed(0)}/s, Acta ${analyzed.acta.perSecond.toFixed(0)}/s, ratio ` +
      (analyzed.acta.perSecond / analyzed.sdk.perSecond).toFixed(2),
  ].join('\n');
}

const describeMemory = (/** @type {any} */ { before, after10s, afterAll, seconds, ratio, responses }) =>
  `Resident memory of a new server under load (${responses} tasks)\n  ${mib(before)} before, ${mib(after10s)} after 10 s, ` +
  `${mib(afterAll)} after ${seconds} s: ${(ratio * 100).toFixed(0)} %`;

const describeStatements = (/** @type {{ command: string, roundTrips: number, names: string[] }[]} */ statements) =>
  [
    'Round trips to Postgres per command, and their statements',
    table(
      ['', 'round trips', 'statements'],
      statements.map(({ command, roundTrips, names }) => [command, String(roundTrips), names.join(', ')]),
    ),
  ].join('\n');

const describeIsolation = (/** @type {any} */ { ratio, ...figures }) =>
  [
    'Blocking sends to an agent module on 16 connections: medians of the rounds, in milliseconds',
    table(
      ['', 'per second', 'p50', 'p99'],
      [
        ['in the server', figures.none],
        ['in its own process', figures.process],
      ].map(([name, { perSecond, p50, p99 }]) => [name, perSecond.toFixed(0), ms(p50), ms(p99)]),
    ),
    `  Ratio ${ratio.toFixed(2)}`,
  ].join('\n');

const describeAccess = (/** @type {any} */ { requests, operations }) =>
  [
    `Requests for tasks of others, ${requests} of each operation: medians in milliseconds`,
    table(
      ['', '1,000 artifacts', '1 artifact', 'missing'],
      Object.entries(operations).map(([method, { large, small, missing }]) => [
        method,
        ...[large, small, missing].map(ms),
      ]),
    ),
  ].join('\n');

const describeScans = (/** @type {any[]} */ scans) =>
  [
    'Request bodies of 1.4 MB: medians in milliseconds',
    table(
      ['', 'bytes', 'JSON.parse', 'scan', 'all checks'],
      scans.map(({ body, bytes, parse, scan, checks }) => [body, String(bytes), ...[parse, scan, checks].map(ms)]),
    ),
  ].join('\n');

const describeLatency = (/** @type {any} */ starts, /** @type {any} */ tokens) =>
  [
    'Between processes, in milliseconds',
    table(
      ['', 'p50', 'p95', 'p99'],
      [
        [
          `acceptance to run(ctx), ${starts.sends} sends, 50 per second`,
          ...[starts.p50, starts.p95, starts.p99].map(ms),
        ],
        ['first token, written to read', ...[tokens.first.p50, tokens.first.p95, tokens.first.p99].map(ms)],
        ['later tokens, 10 streams, 50 per second', ...[tokens.later.p50, tokens.later.p95, tokens.later.p99].map(ms)],
      ],
    ),
  ].join('\n');

const describeRecovery = (/** @type {any} */ { runs, restartedAfterKill, released, restartedAfterStop }) =>
  `Slowest of ${runs} runs of a worker, default settings\n  kill -9: restarted after ${seconds(restartedAfterKill)}; ` +
  `SIGTERM: released after ${seconds(released)}, restarted after ${seconds(restartedAfterStop)}`;

const describeWebhooks = (/** @type {any} */ { silentTargets, requested, baseline, besideSilent }) =>
  [
    'Event to webhook of one tenant, in milliseconds',
    table(
      ['', 'webhooks', 'p50', 'p99', 'maximum'],
      [
        ['alone', baseline],
        [`beside ${silentTargets} targets of another tenant that never respond`, besideSilent],
      ].map(([name, { webhooks, p50, p99, max }]) => [name, String(webhooks), ...[p50, p99, max].map(ms)]),
    ),
    `  ${requested} of the targets had got a request by the end`,
  ].join('\n');

const describeStreams = (/** @type {any} */ { streams, complete, events, peakBytes, p50, p95, p99 }) =>
  `${streams} open streams, 10 events each, 1 per second\n  ${complete} complete and in order, ${events} events; ` +
  `append to read: p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)} ms; resident memory of the server at most ${mib(peakBytes)}`;

const describeLists = (/** @type {any[]} */ lists) =>
  [
    'ListTasks, a page of 50 of one caller: medians, in milliseconds',
    table(
      ['', 'page', 'exact total', 'count(*)', 'complete query'],
      lists.map(({ tasks, pageMs, countMs, plainCountMs, queryMs }) => [
        `among ${tasks} tasks`,
        ...[pageMs, countMs, plainCountMs, queryMs].map(ms),
      ]),
    ),
    ...lists.map(({ tasks, plan }) => `  Plan among ${tasks} tasks\n${plan.replace(/^/gm, '    ')}`),
  ].join('\n');

/** Formats a table. Numbers are aligned to the right, everything else to the left. */
function table(/** @type {string[]} */ heads, /** @type {string[][]} */ rows) {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column].length)));
  const cell = (/** @type {string} */ text, /** @type {number} */ column) =>
    /^[-\d.]*$/.test(text) && column > 0 ? text.padStart(widths[column]) : text.padEnd(widths[column]);
  return [heads, ...rows].map((cells) => `  ${cells.map(cell).join('  ')}`.trimEnd()).join('\n');
}
