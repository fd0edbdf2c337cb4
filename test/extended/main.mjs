import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SUITES } from './suites.mjs';

const HELP = `npm run test:extended -- [--list] [--only NAME]...
  --list  print the suites
  --only  run only this suite; can be repeated
Runs the suites one after the other and prints the result of each. Exits with code 1 if a suite fails.`;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: SUITES.map(({ name }) => name) },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
if (values.list) {
  for (const { name, about, smoke } of SUITES) console.log(`${name}: ${about} (smoke case: ${smoke})`);
  process.exit();
}
const unknown = values.only.find((only) => !SUITES.some(({ name }) => name === only));
if (unknown !== undefined) {
  console.error(`--only: "${unknown}" is not a suite; --list prints the suites`);
  process.exit(2);
}

/** @type {string[]} */
const summary = [];
for (const { name, command, env, requires } of SUITES) {
  if (!values.only.includes(name)) continue;
  if (requires !== undefined && !process.env[requires]) {
    summary.push(`skipped  ${name}: ${requires} is not set`);
    continue;
  }
  console.log(`\n${name}`);
  const start = performance.now();
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { ...process.env, TEST_EXTENDED: '1', ...env },
    stdio: 'inherit',
  });
  const [code, signal] = await once(child, 'exit');
  const seconds = `${((performance.now() - start) / 1_000).toFixed(0)} s`;
  if (code === 0) summary.push(`passed   ${name}: ${seconds}`);
  else {
    summary.push(`failed   ${name}: ${signal ?? `exit code ${code}`} after ${seconds}`);
    process.exitCode = 1;
  }
}
console.log(`\n${summary.join('\n')}`);
