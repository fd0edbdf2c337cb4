/** An entry of `ACTA_AGENTS` cannot be used. The message is one sentence for the person who starts Acta. */
export class AgentModuleError extends Error {}
