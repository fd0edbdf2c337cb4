import { parseArgs } from 'node:util';
import { measureAccess } from './phases/access.mjs';
import { measureJsonScan } from './phases/json-scan.mjs';
import { measureLists } from './phases/list-tasks.mjs';
import { measureStarts, measureTokens } from './phases/latency.mjs';
import { measureIsolation } from './phases/isolation.mjs';
import { watchMemory } from './phases/memory.mjs';
import { openPostgres } from './postgres.mjs';
import { measureRecovery } from './phases/recovery.mjs';
import { describe } from './report.mjs';
import { countStatements } from './phases/statements.mjs';
import { measureStreams } from './phases/streams.mjs';
import { targetsOf } from './targets.mjs';
import { compare } from './phases/throughput.mjs';
import { measureWebhooks } from './phases/webhooks.mjs';

const HELP = `npm run bench -- [--quick] [--json] [--list] [--streams] [--latency] [--recovery]
               [--webhooks] [--access] [--scan] [--isolation]
  --quick     shorter phases
  --json      print the results as JSON; progress goes to stderr
  --list      only ListTasks with 1,000 and 100,000 tasks, with the query plans
  --streams   only 1,000 open streams
  --latency   only the latency of starts and tokens between processes
  --recovery  only the recovery of the runs of a killed and of a stopped worker
  --isolation only sends to an agent module in its own process and in the server
  --access    only the latency of requests for tasks of others and for missing tasks
  --scan      only the checks of request bodies of 1.4 MB beside JSON.parse
  --webhooks  only the latency of webhooks while 250 targets of another tenant never respond
Without a phase, all phases run. BENCH_DATABASE_URL selects a Postgres instead of the embedded one; the bench creates and
drops its own databases there. Exits with code 1 if a target is missed, and names the target.`;

const { values: flags } = parseArgs({
  options: Object.fromEntries(
    ['quick', 'json', 'list', 'streams', 'latency', 'recovery', 'webhooks', 'access', 'scan', 'isolation', 'help'].map(
      (name) => [name, { type: 'boolean' }],
    ),
  ),
});
if (flags.help) {
  console.log(HELP);
  process.exit();
}
const chosen = ['list', 'streams', 'latency', 'recovery', 'webhooks', 'access', 'scan', 'isolation'].filter(
  (phase) => flags[phase],
);
/** Without a chosen phase, every phase runs. */
const runs = (/** @type {string} */ phase) => chosen.length === 0 || chosen.includes(phase);
const log = (/** @type {string} */ line) => (flags.json ? console.error(line) : console.log(line));

const postgres = await openPostgres();
// The embedded Postgres otherwise outlives this process.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => postgres.close().finally(() => process.exit(130)));
}
log(`${postgres.about}; Node ${process.version}`);
/** @type {Record<string, any>} */
const results = { postgres: postgres.about, node: process.version };
try {
  if (runs('throughput')) {
    results.statements = await countStatements(await postgres.database('statements'));
    const rounds = flags.quick ? { rounds: 2, forMs: 3_000 } : { rounds: 5, forMs: 5_000 };
    results.throughput = await compare(postgres, rounds, log);
    log('memory under load');
    results.memory = await watchMemory(postgres, { forMs: flags.quick ? 20_000 : 60_000 });
  }
  if (runs('latency')) {
    log('latency of starts and tokens between processes');
    results.starts = await measureStarts(postgres, { sends: flags.quick ? 250 : 1_000 });
    results.tokens = await measureTokens(postgres);
  }
  if (runs('recovery')) {
    log('recovery of the runs of lost workers');
    results.recovery = await measureRecovery(postgres);
  }
  if (runs('webhooks')) {
    log('webhooks beside targets that never respond');
    results.webhooks = await measureWebhooks(postgres, { silentTargets: 250, forMs: flags.quick ? 15_000 : 35_000 });
  }
  if (runs('isolation')) {
    log('sends to an agent module in its own process and in the server');
    const rounds = flags.quick ? { rounds: 3, forMs: 3_000 } : { rounds: 5, forMs: 5_000 };
    results.isolation = await measureIsolation(postgres, rounds);
  }
  if (runs('access')) {
    log('requests for tasks of others');
    results.access = await measureAccess(postgres, { requests: flags.quick ? 600 : 2_000 });
  }
  if (runs('scan')) {
    log('checks of request bodies');
    results.scans = measureJsonScan({ rounds: flags.quick ? 100 : 300 });
  }
  if (runs('streams')) {
    log('open streams');
    results.streams = await measureStreams(postgres, { streams: flags.quick ? 200 : 1_000 });
  }
  if (runs('list')) {
    log('ListTasks with few and with many tasks');
    results.lists = await measureLists(postgres);
  }
} finally {
  await postgres.close();
}

results.targets = targetsOf(results);
console.log(flags.json ? JSON.stringify(results, null, 2) : describe(results));
const missed = results.targets.filter((/** @type {{ met: boolean }} */ target) => !target.met);
for (const { name, measured } of missed) console.error(`missed target: ${name} (measured ${measured})`);
process.exitCode = missed.length === 0 ? 0 : 1;
