import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AgentProfile, type RetryPolicy, type UpstreamTask } from '@app/domain';
import { AgentDirectory } from '@app/tasks';
import type { Agent, UpstreamAddress } from './agent.contract.js';
import { AgentModuleError } from './agent-module-error.js';
import { conformanceAgent } from './conformance.agent.js';
import { demoAgent } from './demo.agent.js';
import { upstreamAgent } from '../upstream/upstream.agent.js';

export interface LoadedAgent {
  readonly definition: Agent;
  readonly profile: AgentProfile;
}

export interface AgentOptions {
  readonly maxAttempts: number;
  readonly demoFaults: boolean;
  /** Lets agents that others run be on http, and on addresses that are not public. */
  readonly upstreamAllowPrivate: boolean;
}

/** Before the second attempt, of agents that do not say. */
const RETRY_BACKOFF_MS = 1_000;

/** The agents of this process. The first is the default one. */
export class Agents extends AgentDirectory {
  private readonly byName: ReadonlyMap<string, LoadedAgent>;

  private constructor(
    private readonly agents: readonly LoadedAgent[],
    private readonly retry: RetryPolicy,
  ) {
    super();
    if (agents.length === 0) throw new AgentModuleError('ACTA_AGENTS names no agent: name at least one, such as demo');
    this.byName = new Map(agents.map((agent) => [agent.profile.name, agent]));
    if (this.byName.size < agents.length) {
      const names = agents.map((agent) => agent.profile.name);
      const twice = names.find((name, at) => names.indexOf(name) !== at);
      throw new AgentModuleError(`two agents are named "${twice}": names must differ`);
    }
  }

  /** Loads the entries of `ACTA_AGENTS`: built-in names, base URLs of agents elsewhere, or paths of ES modules. */
  static async load(entries: readonly string[], options: AgentOptions): Promise<Agents> {
    const loaded = await Promise.all(entries.map((entry) => loadEntry(entry, options)));
    return Agents.of(loaded.flat(), { attempts: options.maxAttempts, backoffMs: RETRY_BACKOFF_MS });
  }

  static of(definitions: readonly Agent[], retry: RetryPolicy): Agents {
    const agents = definitions.map((definition) => ({ definition, profile: profileOf(definition, retry) }));
    return new Agents(agents, retry);
  }

  get defaultAgent(): AgentProfile {
    return this.agents[0]!.profile;
  }

  override find(name: string): AgentProfile | undefined {
    return this.byName.get(name)?.profile;
  }

  /** How lost runs of an agent are tried again, also of one that is not of this process. */
  retryOf(name: string): RetryPolicy {
    return this.find(name)?.retry ?? this.retry;
  }

  override all(): readonly AgentProfile[] {
    return this.agents.map((agent) => agent.profile);
  }

  override calledOff(agent: string, upstream: UpstreamTask): void {
    void this.byName
      .get(agent)
      ?.definition.calledOff?.(upstream)
      .catch(() => undefined);
  }

  /** Agents that this process can run; the others are run by remote workers. */
  runnable(): readonly AgentProfile[] {
    return this.agents.filter(({ definition }) => definition.run !== undefined).map((agent) => agent.profile);
  }

  loaded(name: string): LoadedAgent {
    const agent = this.byName.get(name);
    if (agent === undefined) throw new Error(`agent "${name}" is not loaded in this process`);
    return agent;
  }
}

async function loadEntry(entry: string, options: AgentOptions): Promise<Agent[]> {
  if (entry === 'demo') return [demoAgent({ faults: options.demoFaults })];
  if (entry === 'conformance') return [conformanceAgent];
  if (/^https?:\/\//i.test(entry)) return [await elsewhere(entry, { url: entry }, options)];
  const path = isAbsolute(entry) ? entry : resolve(process.cwd(), entry);
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (error) {
    throw new AgentModuleError(`ACTA_AGENTS: ${entry} cannot be loaded: ${(error as Error).message}`);
  }
  const exported: unknown[] = Array.isArray(module.default) ? module.default : [module.default];
  return Promise.all(exported.map((candidate) => usable(entry, candidate, options)));
}

/** An agent of a module, with what the card of its upstream agent says where it has one. */
async function usable(entry: string, candidate: unknown, options: AgentOptions): Promise<Agent> {
  const { upstream, ...own } = (candidate ?? {}) as Partial<Agent> & { upstream?: string | UpstreamAddress };
  if (upstream === undefined) return checked(entry, candidate);
  const at = typeof upstream === 'string' ? { url: upstream } : upstream;
  return checked(entry, await elsewhere(entry, at, options, own), 'may have no skills');
}

function elsewhere(
  entry: string,
  at: UpstreamAddress,
  options: AgentOptions,
  own: Partial<Agent> = {},
): Promise<Agent> {
  if (typeof at.url !== 'string' || !/^https?:/i.test(at.url) || !URL.canParse(at.url)) {
    throw new AgentModuleError(
      `ACTA_AGENTS: ${entry}: an upstream agent needs its URL, such as https://agent.example/`,
    );
  }
  if (at.token !== undefined && !/^[\x21-\x7e]+$/.test(at.token)) {
    throw new AgentModuleError(`ACTA_AGENTS: ${entry}: the token of an upstream agent must be printable ASCII`);
  }
  if (own.run !== undefined)
    throw new AgentModuleError(`ACTA_AGENTS: ${entry}: an agent has run or upstream, not both`);
  return upstreamAgent(at, { allowPrivate: options.upstreamAllowPrivate }, own);
}

function checked(entry: string, candidate: unknown, skills?: 'may have no skills'): Agent {
  const wrong = (what: string) => new AgentModuleError(`ACTA_AGENTS: ${entry}: ${what}`);
  if (typeof candidate !== 'object' || candidate === null) {
    throw wrong('its default export must be an agent or an array of agents');
  }
  const agent = candidate as Partial<Agent>;
  for (const field of ['name', 'description', 'version'] as const) {
    if (typeof agent[field] !== 'string' || agent[field] === '') throw wrong(`an agent needs a ${field} (a string)`);
  }
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(agent.name!)) {
    throw wrong(`the name "${agent.name}" must be letters, digits, dots, dashes and underscores, at most 64`);
  }
  if (agent.run !== undefined && typeof agent.run !== 'function') {
    throw wrong(`run of agent "${agent.name}" must be a function; leave it out for an agent that remote workers run`);
  }
  if (!Array.isArray(agent.skills) || (agent.skills.length === 0 && skills === undefined))
    throw wrong(`agent "${agent.name}" needs skills`);
  const extensions: unknown = agent.extensions ?? [];
  if (!Array.isArray(extensions) || extensions.some((extension) => typeof extension?.uri !== 'string')) {
    throw wrong(`extensions of agent "${agent.name}" must be an array of objects with a uri`);
  }
  return agent as Agent;
}

function profileOf(agent: Agent, retry: RetryPolicy): AgentProfile {
  return {
    name: agent.name,
    description: agent.description,
    version: agent.version,
    skills: agent.skills,
    inputModes: agent.inputModes ?? ['*/*'],
    outputModes: agent.outputModes ?? ['*/*'],
    extensions: agent.extensions ?? [],
    retry: { ...retry, ...agent.retry },
    ...(agent.concurrency === undefined ? {} : { concurrency: agent.concurrency }),
    idempotency: agent.idempotency ?? 'on',
  };
}
