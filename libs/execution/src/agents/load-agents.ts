import { upstreamAgent } from '../upstream/upstream.agent.js';
import { createAgentContext } from '../turn/agent-context.js';
import type { AgentRunner } from '../turn/agent-turn.js';
import type { AgentProcessOptions } from '../processes/agent-process.js';
import { childEnvironment } from '../processes/child-environment.js';
import { ModuleHost } from '../processes/module-host.js';
import { remoteAgent } from '../processes/remote-agent.js';
import type { Agent, UpstreamAddress } from './agent.contract.js';
import { AgentModuleError } from './agent-module-error.js';
import { conformanceAgent } from './conformance.agent.js';
import { demoAgent } from './demo.agent.js';
import { importAgentModule } from './import-module.js';
import { invalidEntry, validateAgent } from './validate-agent.js';

export interface AgentOptions {
  readonly demoFaults: boolean;
  /** Allows upstream agents on http, and on private and loopback addresses. */
  readonly upstreamAllowPrivate: boolean;
  /** Where agent modules run: each in processes of its own, or all in this process, for debugging. */
  readonly agentIsolation: 'process' | 'none';
  readonly agentUnresponsiveMs: number;
  readonly agentMemoryMiB: number;
  readonly agentUid: number | null;
  readonly agentGid: number | null;
  /** The program of the agent processes; absent: the built one. */
  readonly agentProgram?: string;
}

/** An agent, and how its turns are executed. */
export interface ExecutableAgent {
  readonly definition: Agent;
  readonly execute: AgentRunner;
  /** The processes of its module; absent: it runs in this process. */
  readonly host?: ModuleHost;
}

/** Loads the entries of `ACTA_AGENTS`: built-in names, base URLs of upstream agents, or paths of ES modules. */
export async function loadAgents(entries: readonly string[], options: AgentOptions): Promise<ExecutableAgent[]> {
  const hosts: ModuleHost[] = [];
  try {
    return (await Promise.all(entries.map((entry) => loadEntry(entry, options, hosts)))).flat();
  } catch (error) {
    await Promise.all(hosts.map((host) => host.close()));
    throw error;
  }
}

/** Returns an agent whose code runs in this process. */
export const inThisProcess = (definition: Agent): ExecutableAgent => ({
  definition,
  execute: async (turn) => {
    // In a turn of its own, so that an error of the agent is handled like one of its later steps.
    await Promise.resolve();
    await definition.run?.(createAgentContext(turn));
  },
});

async function loadEntry(entry: string, options: AgentOptions, hosts: ModuleHost[]): Promise<ExecutableAgent[]> {
  if (entry === 'demo') return [inThisProcess(demoAgent({ faults: options.demoFaults }))];
  if (entry === 'conformance') return [inThisProcess(conformanceAgent)];
  if (/^https?:\/\//i.test(entry)) return [inThisProcess(await connectUpstream(entry, { url: entry }, options))];
  if (options.agentIsolation === 'none') {
    const exported = await importAgentModule(entry).catch((error: unknown) => {
      throw notLoadable(entry, error);
    });
    const agents = await Promise.all(exported.map((candidate) => toAgent(entry, candidate, options)));
    return agents.map(({ agent }) => inThisProcess(agent));
  }
  const host = new ModuleHost(entry, processOptions(options));
  hosts.push(host);
  const sent = await host.load().catch((error: unknown) => {
    throw notLoadable(entry, error);
  });
  const agents = await Promise.all(
    sent.map((agent, index) => toAgent(entry, remoteAgent(host, agent, index), options)),
  );
  // The process of a module with upstream agents only has no more work.
  if (agents.every(({ isUpstream }) => isUpstream)) await host.close();
  return agents.map(({ agent, isUpstream }, index) =>
    isUpstream
      ? inThisProcess(agent)
      : { definition: agent, execute: (turn, how) => host.execute(index, turn, how), host },
  );
}

function processOptions(options: AgentOptions): AgentProcessOptions {
  const { agentProgram } = options;
  return {
    unresponsiveMs: options.agentUnresponsiveMs,
    memoryMiB: options.agentMemoryMiB,
    uid: options.agentUid,
    gid: options.agentGid,
    env: childEnvironment(process.env),
    ...(agentProgram === undefined ? {} : { program: agentProgram }),
  };
}

/** Returns an agent of a module. The card of its upstream agent, if it has one, supplies the fields that the module omits. */
async function toAgent(
  entry: string,
  candidate: unknown,
  options: AgentOptions,
): Promise<{ agent: Agent; isUpstream: boolean }> {
  const { upstream, ...own } = (candidate ?? {}) as Partial<Agent> & { upstream?: string | UpstreamAddress };
  const isUpstream = upstream !== undefined;
  if (!isUpstream) return { agent: validateAgent(entry, candidate, { isUpstream }), isUpstream };
  const address = typeof upstream === 'string' ? { url: upstream } : upstream;
  const connected = await connectUpstream(entry, address, options, own);
  return { agent: validateAgent(entry, connected, { isUpstream }), isUpstream };
}

function connectUpstream(
  entry: string,
  address: UpstreamAddress,
  options: AgentOptions,
  own: Partial<Agent> = {},
): Promise<Agent> {
  if (typeof address.url !== 'string' || !/^https?:/i.test(address.url) || !URL.canParse(address.url)) {
    throw invalidEntry(entry, 'an upstream agent needs its URL, such as https://agent.example/');
  }
  if (address.token !== undefined && !/^[\x21-\x7e]+$/.test(address.token)) {
    throw invalidEntry(entry, 'the token of an upstream agent must be printable ASCII');
  }
  if (own.run !== undefined) throw invalidEntry(entry, 'an agent has run or upstream, not both: remove one of them');
  return upstreamAgent(address, { allowPrivate: options.upstreamAllowPrivate }, own);
}

const notLoadable = (entry: string, error: unknown): AgentModuleError =>
  invalidEntry(entry, `the module cannot be loaded: ${(error as Error).message}`);
