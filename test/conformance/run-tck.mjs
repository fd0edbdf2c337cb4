// Runs the A2A technology compatibility kit (TCK) against new server processes and writes the table of results.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitOf, startBuiltServer } from '../support/processes/built-server.mjs';
import { compareWithDeviations, merged, outcomesOf, tableOf } from './tck-report.mjs';

const USAGE = `usage: A2A_TCK_DIR=path/to/a2a-tck npm run test:tck [-- --update-pin]
  A2A_TCK_DIR   a checkout of https://github.com/a2aproject/a2a-tck, branch 1.0-dev
  PYTHON        a Python 3.11 with the packages of the TCK; absent: a virtual environment in node_modules/.cache
  --update-pin  accept the commit of the checkout and pin it in contracts/a2a-contract.json`;
const PACKAGES =
  'pytest pytest-asyncio httpx grpcio protobuf googleapis-common-protos jsonschema pytest-html gherkin-official Jinja2';
const TRANSPORTS = ['jsonrpc', 'http_json'];
const fileOf = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/** The complete kit with all capabilities, and then the tests that need a server without capabilities or with a required extension. */
const RUNS = [
  { name: 'all capabilities', env: {}, args: [] },
  { name: 'no capabilities', env: { ACTA_CAPABILITIES: '' }, args: ['-k', 'not_supported or unsupported_operation'] },
  {
    name: 'a required extension',
    env: { ACTA_AGENTS: fileOf('required-extension.agent.mjs') },
    args: ['-k', 'missing_required_extension'],
  },
];
/** The values of `ACTA_CARD_VERSION`. The kit requests the card without a version. */
const CARDS = ['compatible', '1.0'];
const PIN = fileOf('../../contracts/a2a-contract.json');

const kit = process.env.A2A_TCK_DIR;
const options = process.argv.slice(2);
if (kit === undefined || options.some((option) => option !== '--update-pin')) fail(USAGE);
if (!existsSync(join(kit, 'tests/compatibility')))
  fail(`A2A_TCK_DIR: "${kit}" is not a checkout of the A2A TCK; it has no folder tests/compatibility`);
const commit = requirePinned(kit, options.includes('--update-pin'));
const python = process.env.PYTHON ?? installPython();

const scratch = mkdtempSync(join(tmpdir(), 'acta-tck-'));
try {
  /** @type {import('./tck-report.mjs').Results} */
  const results = {};
  for (const card of CARDS) {
    const runs = [];
    for (const { name, env, args } of RUNS) {
      console.log(`A2A TCK against a server with ${name}, ACTA_CARD_VERSION=${card}`);
      const id = reportOf(name, card);
      runs.push({ name, outcomes: await runKit(id, { ACTA_CARD_VERSION: card, ...env }, args) });
    }
    results[card] = merged(runs, TRANSPORTS);
  }
  const untested = untestedRequirements(reportOf(RUNS[0].name, CARDS[0]));
  writeFileSync(fileOf('tck-results.md'), tableOf({ commit, results, untested, transports: TRANSPORTS }));
  const outcomes = Object.values(results).flat();
  const count = (/** @type {string} */ kind) => outcomes.filter(({ outcome }) => outcome === kind).length;
  console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped: see tck-results.md`);
  const problems = compareWithDeviations(outcomes, readFileSync(fileOf('deviations.md'), 'utf8'));
  for (const line of problems) console.error(line);
  process.exitCode = problems.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`test:tck: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Returns the commit of the checkout. Exits unless it is the pinned commit or the pin is updated. */
function requirePinned(/** @type {string} */ checkout, /** @type {boolean} */ update) {
  const actual = execFileSync('git', ['-C', checkout, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const contract = JSON.parse(readFileSync(PIN, 'utf8'));
  if (contract.tck.commit === actual) return actual;
  if (!update) {
    fail(
      `A2A_TCK_DIR: "${checkout}" is at commit ${actual}, but ${contract.tck.commit} is pinned; check that commit out, or add -- --update-pin`,
      2,
    );
  }
  contract.tck.commit = actual;
  writeFileSync(PIN, `${JSON.stringify(contract, null, 2)}\n`);
  return actual;
}

function installPython() {
  const home = fileOf('../../node_modules/.cache/a2a-tck-python');
  const executable = join(home, 'bin/python');
  if (existsSync(join(home, 'ready'))) return executable;
  console.log('creating a Python environment for the TCK');
  rmSync(home, { recursive: true, force: true });
  execFileSync('python3.11', ['-m', 'venv', home], { stdio: 'inherit' });
  execFileSync(executable, ['-m', 'pip', 'install', '--quiet', ...PACKAGES.split(' ')], { stdio: 'inherit' });
  writeFileSync(join(home, 'ready'), '');
  return executable;
}

async function runKit(
  /** @type {string} */ name,
  /** @type {Record<string, string>} */ env,
  /** @type {string[]} */ args,
) {
  const server = await startBuiltServer({
    ACTA_DATA_DIR: join(scratch, `${name}-data`),
    ACTA_AUTH: 'none',
    ACTA_PUSH_ALLOW_PRIVATE: 'true',
    ACTA_AGENTS: 'conformance',
    ...env,
  });
  try {
    const junit = join(scratch, `${name}.xml`);
    const compatibility = join(scratch, name);
    // The runner of the kit writes its reports into the checkout. pytest writes them to the given paths.
    const pytest = `-m pytest tests/compatibility -q --tb=short -p no:cacheprovider --sut-host=${server.url}`.split(
      ' ',
    );
    pytest.push(
      `--transport=${TRANSPORTS.join(',')}`,
      `--junitxml=${junit}`,
      `--compatibility-report=${compatibility}`,
    );
    const pythonEnv = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
    await exitOf(
      spawn(python, [...pytest, ...args], { cwd: kit, env: pythonEnv, stdio: ['ignore', 'inherit', 'inherit'] }),
    );
    if (!existsSync(junit) || !existsSync(`${compatibility}.json`)) throw new Error('the TCK wrote no report');
    const report = JSON.parse(readFileSync(`${compatibility}.json`, 'utf8'));
    return outcomesOf(readFileSync(junit, 'utf8'), report);
  } finally {
    await server.stop();
  }
}

/** Returns the name of the files of a run, without a dot: the kit replaces the extension of its report. */
function reportOf(/** @type {string} */ name, /** @type {string} */ card) {
  return `${name} ${card}`.replaceAll(/[ .]/g, '-');
}

/** Returns the requirements that the kit lists without a test. */
function untestedRequirements(/** @type {string} */ run) {
  const report = JSON.parse(readFileSync(join(scratch, `${run}.json`), 'utf8'));
  return Object.keys(report.per_requirement).filter((id) => report.per_requirement[id].status === 'NOT TESTED');
}

/** @returns {never} */
function fail(/** @type {string} */ message) {
  console.error(message);
  process.exit(2);
}
