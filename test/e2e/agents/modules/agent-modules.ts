import { fileURLToPath } from 'node:url';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** The path of the agent `careless`, which rejects a promise without a handler. */
export const CARELESS = pathOf('careless.mjs');
/** The path of the agent `counter`, which reports numbers as statuses. */
export const COUNTER = pathOf('counter.mjs');
/** The path of the agent `reporter`, which publishes the request that it receives. */
export const REPORTER = pathOf('reporter.mjs');
/** The path of a module with the agents `plain`, `narrow`, `flaky` and `bank`. */
export const SEVERAL_AGENTS = pathOf('several-agents.mjs');
