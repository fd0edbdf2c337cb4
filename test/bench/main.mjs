import { parseArgs } from 'node:util';
import { watchMemory } from './memory.mjs';
import { openPostgres } from './postgres.mjs';
import { describe } from './report.mjs';
import { countStatements } from './statements.mjs';
import { compare } from './throughput.mjs';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const log = (/** @type {string} */ line) => (flags.json ? console.error(line) : console.log(line));

const postgres = await openPostgres();
log(`${postgres.about}; Node ${process.version}`);
/** @type {Record<string, any>} */
const results = { postgres: postgres.about, node: process.version };
try {
  results.statements = await countStatements(await postgres.database('statements'));
  results.throughput = await compare(
    postgres,
    flags.quick ? { rounds: 2, forMs: 3_000 } : { rounds: 5, forMs: 5_000 },
    log,
  );
  results.memory = await watchMemory(postgres, { forMs: flags.quick ? 20_000 : 60_000 });
} finally {
  await postgres.close();
}

const { throughput, memory } = results;
/** The targets of the project, by name: whether they are met, and what was measured. */
results.targets = [
  { name: 'at least 3 times the official SDK', met: throughput.actaToSdk >= 3, measured: throughput.actaToSdk },
  { name: 'at least 0.03 of raw inserts', met: throughput.actaToRaw >= 0.03, measured: throughput.actaToRaw },
  { name: 'p99 below 10 times p50', met: throughput.p99ToP50 < 10, measured: throughput.p99ToP50 },
  { name: 'resident memory at most 1.1 of that after 10 s', met: memory.ratio <= 1.1, measured: memory.ratio },
];
if (flags.json) console.log(JSON.stringify(results, null, 2));
else console.log(describe(results));
const missed = results.targets.filter((/** @type {{ met: boolean }} */ target) => !target.met);
for (const { name, measured } of missed) console.error(`missed: ${name} (${measured.toFixed(3)})`);
process.exitCode = missed.length === 0 ? 0 : 1;
