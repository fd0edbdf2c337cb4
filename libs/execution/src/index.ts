export * from './agent.contract.js';
export * from './agents.js';
export * from './lease-reaper.js';
export * from './run.js';
export * from './run-queue.js';
export * from './worker.js';
export * from './execution.module.js';
export * from './remote-runs.js';
