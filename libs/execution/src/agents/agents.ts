import { type AgentProfile, type RetryPolicy, type UpstreamTask } from '@app/domain';
import { AgentDirectory } from '@app/tasks';
import type { Agent } from './agent.contract.js';
import { AgentModuleError } from './agent-module-error.js';
import { type AgentOptions, loadAgents } from './load-agents.js';

interface LoadedAgent {
  readonly definition: Agent;
  readonly profile: AgentProfile;
}

/** The wait before the second attempt of agents that do not set it. */
const RETRY_BACKOFF_MS = 1_000;

/** The agents of this process. The first one is the default agent. */
export class Agents extends AgentDirectory {
  private readonly byName: ReadonlyMap<string, LoadedAgent>;

  private constructor(
    private readonly agents: readonly LoadedAgent[],
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
  static async load(entries: readonly string[], options: AgentOptions & { maxAttempts: number }): Promise<Agents> {
    const definitions = await loadAgents(entries, options);
    return Agents.of(definitions, { attempts: options.maxAttempts, backoffMs: RETRY_BACKOFF_MS });
  }

  static of(definitions: readonly Agent[], defaultRetry: RetryPolicy): Agents {
    const agents = definitions.map((definition) => ({ definition, profile: profileOf(definition, defaultRetry) }));
    return new Agents(agents, defaultRetry);
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

  /** Returns the agents that this process can execute. Remote workers execute the others. */
  runnable(): readonly AgentProfile[] {
    return this.agents.filter(({ definition }) => definition.run !== undefined).map((agent) => agent.profile);
  }

  loaded(name: string): LoadedAgent {
    const agent = this.byName.get(name);
    if (agent === undefined) throw new Error(`agent "${name}" is not loaded in this process`);
    return agent;
  }
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
