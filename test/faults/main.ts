import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FAILED_ONCE } from './failed-once.js';
import { grouped } from './checks/grouped.js';
import { PostgresCluster } from './fleet/postgres-cluster.js';
import { storm } from './storm.js';

const HELP = `npm run test:faults -- [--storms N] [--seed S] [--seconds T] [--regressions] [--break-fence]
  --storms       how many, each on a fresh database (default 10)
  --seed         of the first storm; each further one has the next (default: of the day)
  --seconds      of load and faults in each (default 8)
  --regressions  instead, the storms of the seeds that once failed
  --break-fence  without the fence in the database: the suite shows that it notices
It prints what each storm did, and ends with 1 when there was a violation.`;

const { values } = parseArgs({
  options: {
    storms: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.trunc(Date.now() / 86_400_000)) },
    seconds: { type: 'string', default: '8' },
    regressions: { type: 'boolean', default: false },
    'break-fence': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const [storms, first, seconds] = [values.storms, values.seed, values.seconds].map((text) => {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  console.error(HELP);
  process.exit(2);
}) as [number, number, number];
const seeds = values.regressions ? FAILED_ONCE : Array.from({ length: storms }, (_, at) => first + at);

const directory = await mkdtemp(join(tmpdir(), 'acta-faults-'));
const cluster = await PostgresCluster.start(directory);
/** The embedded Postgres outlives whoever started it. */
const clear = async () => {
  await cluster.close();
  await rm(directory, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void clear().finally(() => process.exit(130)));
}
const total = { tasks: 0, faults: 0, violations: 0 };
try {
  for (const [at, seed] of seeds.entries()) {
    const report = await storm(cluster, { seed, seconds, breakFence: values['break-fence'] });
    const { tasks, remote, webhooks, events, messages, faults, violations } = report;
    const injected = Object.entries(faults);
    total.tasks += tasks;
    total.faults += injected.reduce((sum, [, times]) => sum + times, 0);
    total.violations += violations.length;
    const list = injected.map(([kind, times]) => (times === 1 ? kind : `${kind} ${times}×`)).join(', ');
    console.log(
      `storm ${at + 1} of ${seeds.length}, seed ${seed}: ${messages} messages, ${tasks} tasks, ${remote} by remote workers, ${webhooks} webhooks told, ${events} events; ${list}; ${violations.length} violations`,
    );
    for (const [violation, same] of grouped(violations, (each) => each)) {
      console.log(`  ${same.length === 1 ? '' : `${same.length}× `}${violation}`);
    }
  }
} finally {
  await clear();
}
console.log(`${seeds.length} storms: ${total.tasks} tasks, ${total.faults} faults, ${total.violations} violations`);
process.exit(total.violations === 0 ? 0 : 1);
