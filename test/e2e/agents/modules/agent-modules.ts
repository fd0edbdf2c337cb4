import { fileURLToPath } from 'node:url';
import { writeAgentModule } from '../../../support/processes/agent-module.js';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** The path of the agent `careless`, which rejects a promise without a handler. */
export const CARELESS = pathOf('careless.mjs');
/** The path of the agent `counter`, which reports numbers as statuses. */
export const COUNTER = pathOf('counter.mjs');
/** The path of the agent `reporter`, which publishes the request that it receives. */
export const REPORTER = pathOf('reporter.mjs');
/** The path of a module with the agents `plain`, `narrow`, `flaky` and `bank`. */
export const SEVERAL_AGENTS = pathOf('several-agents.mjs');

/** Writes a module with one agent of `hostile.mjs`, and returns its path. */
export const hostileModule = (name: string): Promise<string> =>
  writeAgentModule(`import { AGENTS } from ${JSON.stringify(pathOf('hostile.mjs'))}; export default AGENTS.${name};`);
