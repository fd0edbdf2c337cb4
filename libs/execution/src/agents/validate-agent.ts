import type { Agent } from './agent.contract.js';
import { AgentModuleError } from './agent-module-error.js';

/** Limit of a timer of Node. */
const MAX_TIMEOUT_MS = 2_147_483_647;

export const invalidEntry = (entry: string, problem: string): AgentModuleError =>
  new AgentModuleError(`ACTA_AGENTS: ${entry}: ${problem}`);

/** Checks what an agent module exports. Errors: AgentModuleError. */
export function validateAgent(
  entry: string,
  candidate: unknown,
  { isUpstream }: { readonly isUpstream: boolean },
): Agent {
  const invalid = (problem: string) => invalidEntry(entry, problem);
  if (typeof candidate !== 'object' || candidate === null) {
    throw invalid('the default export must be an agent or an array of agents');
  }
  const agent = candidate as Partial<Agent>;
  for (const field of ['name', 'description', 'version'] as const) {
    if (typeof agent[field] !== 'string' || agent[field] === '') throw invalid(`an agent needs a ${field} (a string)`);
  }
  const subject = `agent "${agent.name}"`;
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(agent.name!)) {
    throw invalid(`the name of ${subject} must be letters, digits, dots, dashes and underscores, at most 64`);
  }
  if (agent.run !== undefined && typeof agent.run !== 'function') {
    throw invalid(`run of ${subject} must be a function; omit it if remote workers execute the agent`);
  }
  if (!Array.isArray(agent.skills) || (agent.skills.length === 0 && !isUpstream)) {
    throw invalid(`${subject} needs skills (an array with at least one skill)`);
  }
  const extensions: unknown = agent.extensions ?? [];
  if (!Array.isArray(extensions) || extensions.some((extension) => typeof extension?.uri !== 'string')) {
    throw invalid(`extensions of ${subject} must be an array of objects with a uri`);
  }
  const { timeoutMs } = agent;
  const isUnlimited = timeoutMs === undefined || (isUpstream && timeoutMs === Infinity);
  if (!isUnlimited && !(Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw invalid(`timeoutMs of ${subject} must be a whole number from 1 to ${MAX_TIMEOUT_MS}`);
  }
  return agent as Agent;
}
