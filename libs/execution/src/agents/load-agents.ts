import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { upstreamAgent } from '../upstream/upstream.agent.js';
import type { Agent, UpstreamAddress } from './agent.contract.js';
import { AgentModuleError } from './agent-module-error.js';
import { conformanceAgent } from './conformance.agent.js';
import { demoAgent } from './demo.agent.js';

export interface AgentOptions {
  readonly demoFaults: boolean;
  /** Allows upstream agents on http, and on private and loopback addresses. */
  readonly upstreamAllowPrivate: boolean;
}

/** Loads the entries of `ACTA_AGENTS`: built-in names, base URLs of upstream agents, or paths of ES modules. */
export async function loadAgents(entries: readonly string[], options: AgentOptions): Promise<Agent[]> {
  return (await Promise.all(entries.map((entry) => loadEntry(entry, options)))).flat();
}

async function loadEntry(entry: string, options: AgentOptions): Promise<Agent[]> {
  if (entry === 'demo') return [demoAgent({ faults: options.demoFaults })];
  if (entry === 'conformance') return [conformanceAgent];
  if (/^https?:\/\//i.test(entry)) return [await connectUpstream(entry, { url: entry }, options)];
  const path = isAbsolute(entry) ? entry : resolve(process.cwd(), entry);
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (error) {
    throw invalid(entry, `the module cannot be loaded: ${(error as Error).message}`);
  }
  const exported: unknown[] = Array.isArray(module.default) ? module.default : [module.default];
  return Promise.all(exported.map((candidate) => toAgent(entry, candidate, options)));
}

/** Returns an agent of a module. The card of its upstream agent, if it has one, supplies the fields that the module omits. */
async function toAgent(entry: string, candidate: unknown, options: AgentOptions): Promise<Agent> {
  const { upstream, ...own } = (candidate ?? {}) as Partial<Agent> & { upstream?: string | UpstreamAddress };
  if (upstream === undefined) return validateAgent(entry, candidate, { skillsRequired: true });
  const address = typeof upstream === 'string' ? { url: upstream } : upstream;
  return validateAgent(entry, await connectUpstream(entry, address, options, own), { skillsRequired: false });
}

function connectUpstream(
  entry: string,
  address: UpstreamAddress,
  options: AgentOptions,
  own: Partial<Agent> = {},
): Promise<Agent> {
  if (typeof address.url !== 'string' || !/^https?:/i.test(address.url) || !URL.canParse(address.url)) {
    throw invalid(entry, 'an upstream agent needs its URL, such as https://agent.example/');
  }
  if (address.token !== undefined && !/^[\x21-\x7e]+$/.test(address.token)) {
    throw invalid(entry, 'the token of an upstream agent must be printable ASCII');
  }
  if (own.run !== undefined) throw invalid(entry, 'an agent has run or upstream, not both: remove one of them');
  return upstreamAgent(address, { allowPrivate: options.upstreamAllowPrivate }, own);
}

function validateAgent(
  entry: string,
  candidate: unknown,
  { skillsRequired }: { readonly skillsRequired: boolean },
): Agent {
  if (typeof candidate !== 'object' || candidate === null) {
    throw invalid(entry, 'the default export must be an agent or an array of agents');
  }
  const agent = candidate as Partial<Agent>;
  for (const field of ['name', 'description', 'version'] as const) {
    if (typeof agent[field] !== 'string' || agent[field] === '') {
      throw invalid(entry, `an agent needs a ${field} (a string)`);
    }
  }
  const subject = `agent "${agent.name}"`;
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(agent.name!)) {
    throw invalid(entry, `the name of ${subject} must be letters, digits, dots, dashes and underscores, at most 64`);
  }
  if (agent.run !== undefined && typeof agent.run !== 'function') {
    throw invalid(entry, `run of ${subject} must be a function; omit it if remote workers execute the agent`);
  }
  if (!Array.isArray(agent.skills) || (agent.skills.length === 0 && skillsRequired)) {
    throw invalid(entry, `${subject} needs skills (an array with at least one skill)`);
  }
  const extensions: unknown = agent.extensions ?? [];
  if (!Array.isArray(extensions) || extensions.some((extension) => typeof extension?.uri !== 'string')) {
    throw invalid(entry, `extensions of ${subject} must be an array of objects with a uri`);
  }
  return agent as Agent;
}

const invalid = (entry: string, problem: string) => new AgentModuleError(`ACTA_AGENTS: ${entry}: ${problem}`);
