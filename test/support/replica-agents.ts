import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readConfig } from '@app/config';
import type { RetryPolicy } from '@app/domain';
import { Agents } from '@app/execution';
import type { Agent } from '../../libs/execution/src/agents/agent.contract.js';
import type { AgentOptions } from '../../libs/execution/src/agents/load-agents.js';

/** The agents of a replica. */
export interface ReplicaAgents {
  readonly agents?: readonly Agent[];
  /** Agent modules in place of `agents`, and how they run. */
  readonly agentModules?: { readonly entries: readonly string[] } & Partial<AgentOptions>;
  readonly retry?: RetryPolicy;
}

/** Returns an agent with the `run` of a test. */
export const anAgent = (run: Agent['run'], changes: Partial<Agent> = {}): Agent => ({
  name: 'tester',
  description: 'runs the code of a test',
  version: '1.0.0',
  skills: [{ id: 'test', name: 'Test', description: 'tests', tags: [] }],
  run,
  ...changes,
});

const RETRY: RetryPolicy = { attempts: 3, backoffMs: 1 };
const PROGRAM = fileURLToPath(new URL('../../dist/libs/execution/src/processes/child/main.js', import.meta.url));

/** Loads the agents of a replica. Processes of agent modules run the built program. */
export async function loadReplicaAgents({ agents, agentModules, retry = RETRY }: ReplicaAgents): Promise<Agents> {
  if (agentModules === undefined) return Agents.of(agents ?? [anAgent(() => undefined)], retry);
  if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run \`npm run build\` before this test`);
  const { entries, ...changes } = agentModules;
  return Agents.load(entries, {
    ...readConfig({}),
    agentProgram: PROGRAM,
    maxAttempts: retry.attempts,
    ...changes,
  });
}
