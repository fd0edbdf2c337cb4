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
  // The card of an upstream agent is passed on as it is.
  if (!isUpstream) requireSkills(agent.skills, (problem) => invalid(`${subject}: ${problem}`));
  for (const field of ['inputModes', 'outputModes'] as const) {
    const modes: unknown = agent[field];
    if (modes !== undefined && !(isTexts(modes) && modes.length > 0)) {
      throw invalid(`${field} of ${subject} must be an array of media types; omit it to allow any`);
    }
  }
  const { concurrency, idempotency, retry } = agent;
  if (concurrency !== undefined && !isCount(concurrency)) {
    throw invalid(`concurrency of ${subject} must be a whole number from 1; omit it if there is no limit`);
  }
  if (idempotency !== undefined && idempotency !== 'on' && idempotency !== 'off') {
    throw invalid(`idempotency of ${subject} must be "on" or "off"`);
  }
  if (retry !== undefined && !(isObject(retry) && (retry['attempts'] === undefined || isCount(retry['attempts'])))) {
    throw invalid(`retry of ${subject} must be an object whose attempts are a whole number from 1`);
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

/** Checks what the schema of the agent card requires of each skill. */
function requireSkills(skills: readonly unknown[], invalid: (problem: string) => AgentModuleError): void {
  const ids = new Set<unknown>();
  skills.forEach((skill, index) => {
    if (!isObject(skill)) throw invalid(`skills[${index}] must be an object`);
    for (const field of ['id', 'name', 'description']) {
      const value = skill[field];
      if (typeof value !== 'string' || value === '')
        throw invalid(`skills[${index}].${field} must be a string with text`);
    }
    if (!isTexts(skill['tags'])) throw invalid(`skills[${index}].tags must be an array of strings, which may be empty`);
    if (ids.has(skill['id'])) throw invalid(`two skills have the id "${String(skill['id'])}"; rename one of them`);
    ids.add(skill['id']);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string' && entry !== '');

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 1;
