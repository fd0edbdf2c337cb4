/**
 * A suite that is too slow for `npm test`.
 *
 * @typedef {object} Suite
 * @property {string} name
 * @property {string} about what the suite runs
 * @property {string[]} command arguments of Node, run in the root folder of the repository
 * @property {Record<string, string>} [env]
 * @property {string} smoke the spec of `npm test` that covers the same cases with a smaller size
 * @property {string} [requires] an environment variable without which the suite is skipped
 */

const TYPESCRIPT = ['--no-warnings', '--enable-source-maps', '--import', './test/faults/typescript-loader.mjs'];
const FAULTS = [...TYPESCRIPT, 'test/faults/main.ts'];
const JEST = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];

/** @type {readonly Suite[]} */
export const SUITES = [
  {
    name: 'fault-storms',
    about: '50 storms of kills, pauses, cuts and restarts under load',
    command: [...FAULTS, '--storms', '50'],
    smoke: 'test/faults/faults.e2e.spec.ts',
  },
  {
    name: 'fault-regressions',
    about: 'the storms that have found a defect',
    command: [...FAULTS, '--regressions'],
    smoke: 'test/faults/faults.e2e.spec.ts',
  },
  {
    name: 'list-tasks',
    about: 'ListTasks with 1,000 and 100,000 tasks, with its targets',
    command: ['test/bench/main.mjs', '--list'],
    smoke: 'libs/tasks/src/queries/list-tasks.statement.int.spec.ts',
  },
  {
    name: 'agent-processes',
    about: 'agents that damage their process, with the default limits of time and memory',
    command: [...JEST, 'test/e2e/agents/agent-processes.e2e.spec.ts'],
    smoke: 'test/e2e/agents/agent-processes.e2e.spec.ts',
  },
  {
    name: 'fuzz',
    about: '100,000 fuzzed requests',
    command: [...JEST, 'test/e2e/fuzz/fuzz.e2e.spec.ts'],
    env: { FUZZ_REQUESTS: '100000' },
    smoke: 'test/e2e/fuzz/fuzz.e2e.spec.ts',
  },
  {
    name: 'round-trips',
    about: '1,000 generated messages through each codec',
    command: [...JEST, 'libs/wire/src/round-trip.unit.spec.ts'],
    smoke: 'libs/wire/src/round-trip.unit.spec.ts',
  },
  {
    name: 'page-budgets',
    about: 'pages of 100 tasks with 2 MiB of history each',
    command: [...JEST, 'test/e2e/a2a/page-budgets.e2e.spec.ts'],
    smoke: 'test/e2e/a2a/page-budgets.e2e.spec.ts',
  },
  {
    name: 'tenant-fairness',
    about: 'a queue of 2,000 tasks of one tenant',
    command: [...JEST, 'libs/execution/src/queue/tenant-fairness.int.spec.ts'],
    smoke: 'libs/execution/src/queue/tenant-fairness.int.spec.ts',
  },
  {
    name: 'webhook-shares',
    about: '250 webhook targets of one tenant that never respond',
    command: [...JEST, 'libs/webhooks/src/sender/tenant-shares.int.spec.ts'],
    smoke: 'libs/webhooks/src/sender/tenant-shares.int.spec.ts',
  },
  {
    name: 'webhook-latency',
    about: 'the latency of webhooks beside 250 targets of another tenant that never respond, with its target',
    command: ['test/bench/main.mjs', '--webhooks'],
    smoke: 'libs/webhooks/src/sender/tenant-shares.int.spec.ts',
  },
  {
    name: 'unusual-databases',
    about: 'a server on databases with unusual defaults',
    command: [...JEST, 'test/e2e/operations/unusual-databases.e2e.spec.ts'],
    smoke: 'test/e2e/operations/unusual-databases.e2e.spec.ts',
  },
  {
    name: 'example-workers',
    about: 'every case of the worker API with the workers in Python and Bash',
    command: [...JEST, 'test/e2e/agents/example-workers.e2e.spec.ts'],
    smoke: 'test/e2e/agents/example-workers.e2e.spec.ts',
  },
  {
    name: 'interop',
    about: 'every operation with the official SDKs for JavaScript, Python, Go and Java',
    command: ['test/interop/main.mjs'],
    smoke: 'test/interop/interop.e2e.spec.ts',
  },
  {
    name: 'tck',
    about: 'the A2A technology compatibility kit',
    command: ['test/conformance/run-tck.mjs'],
    smoke: 'test/e2e/agents/conformance-agent.e2e.spec.ts',
    requires: 'A2A_TCK_DIR',
  },
];
