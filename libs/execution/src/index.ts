export { Agents } from './agents/agents.js';
export { ExecutionModule } from './execution.module.js';
export { WorkerClaims } from './worker-api/worker-claims.js';
export { WorkerRuns } from './worker-api/worker-runs.js';
export { Worker } from './worker/worker.js';
