import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { groupBy } from './checks/group-by.js';
import { PostgresCluster } from './fleet/postgres-cluster.js';
import { REGRESSION_SEEDS } from './regression-seeds.js';
import { storm, type StormReport } from './storm.js';

const HELP = `npm run test:faults -- [--storms N] [--seed S] [--seconds T] [--regressions] [--break-fence]
  --storms       number of storms, each on a new database (default 10)
  --seed         seed of the first storm; each further storm has the next one (default: number of the day)
  --seconds      duration of load and faults in each storm (default 8)
  --regressions  run the seeds of test/faults/regression-seeds.ts instead
  --break-fence  remove the fence from the database first; the suite must then report violations
Prints the faults and violations of each storm. Exits with code 1 if there was a violation.`;

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
const seeds = values.regressions ? REGRESSION_SEEDS : Array.from({ length: storms }, (_, index) => first + index);

const directory = await mkdtemp(join(tmpdir(), 'acta-faults-'));
const cluster = await PostgresCluster.start(directory);
/** Stops Postgres, which otherwise outlives this process. */
const cleanUp = async () => {
  await cluster.close();
  await rm(directory, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)));
}
const total = { tasks: 0, faults: 0, violations: 0 };
try {
  for (const [index, seed] of seeds.entries()) {
    const report = await storm(cluster, { seed, seconds, breakFence: values['break-fence'] });
    total.tasks += report.tasks;
    total.faults += Object.values(report.faults).reduce((sum, times) => sum + times, 0);
    total.violations += report.violations.length;
    console.log(`storm ${index + 1} of ${seeds.length}, ${describe(report)}`);
    for (const [violation, repeats] of groupBy(report.violations, (each) => each)) {
      console.log(`  ${repeats.length === 1 ? '' : `${repeats.length}× `}${violation}`);
    }
  }
} finally {
  await cleanUp();
}
console.log(`${seeds.length} storms: ${total.tasks} tasks, ${total.faults} faults, ${total.violations} violations`);
process.exit(total.violations === 0 ? 0 : 1);

function describe(report: StormReport): string {
  const { seed, messages, tasks, apiWorkerTasks, webhooks, events, faults, violations } = report;
  const kinds = Object.entries(faults).map(([kind, times]) => (times === 1 ? kind : `${kind} ${times}×`));
  return [
    `seed ${seed}: ${messages} messages, ${tasks} tasks (${apiWorkerTasks} by API workers)`,
    `${webhooks} complete webhooks, ${events} events; ${kinds.join(', ')}; ${violations.length} violations`,
  ].join(', ');
}
