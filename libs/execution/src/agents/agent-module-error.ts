/** An entry of `ACTA_AGENTS` that cannot be used, and why, in one sentence. */
export class AgentModuleError extends Error {}
