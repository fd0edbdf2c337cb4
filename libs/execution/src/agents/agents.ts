import { type AgentProfile, type RetryPolicy, type UpstreamTask } from '@app/domain';
import { AgentDirectory } from '@app/tasks';
import type { AgentRunner } from '../turn/agent-turn.js';
import type { Agent } from './agent.contract.js';
import { AgentModuleError } from './agent-module-error.js';
import { type AgentOptions, type ExecutableAgent, inThisProcess, loadAgents } from './load-agents.js';

export interface LoadedAgent {
  readonly profile: AgentProfile;
  readonly execute: AgentRunner;
  /** Maximum duration of a run in milliseconds. */
  readonly timeoutMs: number;
}

interface AgentEntry extends ExecutableAgent, LoadedAgent {}

interface AgentDefaults {
  readonly retry: RetryPolicy;
  readonly runTimeoutMs: number;
}

/** The wait before the second attempt of agents that do not set it. */
const RETRY_BACKOFF_MS = 1_000;

/** The agents of this process. The first one is the default agent. */
export class Agents extends AgentDirectory {
  private readonly byName: ReadonlyMap<string, AgentEntry>;

  private constructor(
    private readonly agents: readonly AgentEntry[],
    private readonly defaultRetry: RetryPolicy,
  ) {
    super();
    if (agents.length === 0) throw new AgentModuleError('ACTA_AGENTS names no agent: name at least one, such as demo');
    this.byName = new Map(agents.map((agent) => [agent.profile.name, agent]));
    if (this.byName.size < agents.length) {
      const names = agents.map((agent) => agent.profile.name);
      const duplicate = names.find((name, index) => names.indexOf(name) !== index);
      throw new AgentModuleError(`ACTA_AGENTS: two agents are named "${duplicate}": rename one of them`);
    }
  }

  /** Loads the entries of `ACTA_AGENTS`. Errors: AgentModuleError. */
  static async load(
    entries: readonly string[],
    options: AgentOptions & { maxAttempts: number; runTimeoutMs: number },
  ): Promise<Agents> {
    const agents = await loadAgents(entries, options);
    const { maxAttempts, runTimeoutMs } = options;
    const retry = { attempts: maxAttempts, backoffMs: RETRY_BACKOFF_MS };
    try {
      return new Agents(
        agents.map((agent) => entryOf(agent, { retry, runTimeoutMs })),
        retry,
      );
    } catch (error) {
      await closeHosts(agents);
      throw error;
    }
  }

  /** Returns agents that run in this process, without a time limit except their own. */
  static of(definitions: readonly Agent[], defaultRetry: RetryPolicy): Agents {
    const defaults = { retry: defaultRetry, runTimeoutMs: Infinity };
    return new Agents(
      definitions.map((definition) => entryOf(inThisProcess(definition), defaults)),
      defaultRetry,
    );
  }

  get defaultAgent(): AgentProfile {
    return this.agents[0]!.profile;
  }

  override find(name: string): AgentProfile | undefined {
    return this.byName.get(name)?.profile;
  }

  /** Returns how lost runs of an agent are retried, also for an agent that this process has not loaded. */
  retryPolicyOf(name: string): RetryPolicy {
    return this.find(name)?.retry ?? this.defaultRetry;
  }

  override all(): readonly AgentProfile[] {
    return this.agents.map((agent) => agent.profile);
  }

  override onCanceled(agent: string, upstream: UpstreamTask): void {
    void this.byName
      .get(agent)
      ?.definition.onCanceled?.(upstream)
      .catch(() => undefined);
  }

  /** Returns the agents that this process can execute now: remote workers execute some, and a process may not respond. */
  runnable(): readonly AgentProfile[] {
    return this.agents
      .filter(({ definition, host }) => definition.run !== undefined && host?.isResponsive !== false)
      .map((agent) => agent.profile);
  }

  /** Ends the processes of agent modules. */
  close(): Promise<void> {
    return closeHosts(this.agents);
  }

  loaded(name: string): LoadedAgent {
    const agent = this.byName.get(name);
    if (agent === undefined) throw new Error(`agent "${name}" is not loaded in this process`);
    return agent;
  }
}

async function closeHosts(agents: readonly ExecutableAgent[]): Promise<void> {
  const hosts = new Set(agents.flatMap(({ host }) => host ?? []));
  await Promise.all([...hosts].map((host) => host.close()));
}

function entryOf(agent: ExecutableAgent, { retry, runTimeoutMs }: AgentDefaults): AgentEntry {
  const { definition } = agent;
  // An upstream agent has no limit.
  const own = definition.timeoutMs ?? runTimeoutMs;
  const timeoutMs = own === Infinity ? own : Math.min(own, runTimeoutMs);
  return { ...agent, profile: profileOf(definition, retry), timeoutMs };
}

function profileOf(agent: Agent, defaultRetry: RetryPolicy): AgentProfile {
  return {
    name: agent.name,
    description: agent.description,
    version: agent.version,
    skills: agent.skills,
    inputModes: agent.inputModes ?? ['*/*'],
    outputModes: agent.outputModes ?? ['*/*'],
    extensions: agent.extensions ?? [],
    retry: { ...defaultRetry, ...agent.retry },
    ...(agent.concurrency === undefined ? {} : { concurrency: agent.concurrency }),
    idempotency: agent.idempotency ?? 'on',
  };
}
