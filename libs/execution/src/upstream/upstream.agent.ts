import { type A2aClient, ClientFailure, connect } from '@app/client';
import type { Agent, UpstreamAddress } from '../agents/agent.contract.js';
import { AgentModuleError } from '../agents/agent-module-error.js';
import { UPSTREAM_TIMING, type UpstreamTiming, UpstreamTurn } from './upstream-turn.js';

export interface UpstreamOptions {
  /** http, and addresses that are not public. */
  readonly allowPrivate: boolean;
  readonly timing?: Partial<UpstreamTiming>;
}

const CONNECT_MS = 15_000;

/**
 * An agent that hands its work to another one over A2A, which Acta keeps the record of. It is what the other's card says, but
 * for what `own` says of it. Throws AgentModuleError, one sentence, when that agent cannot be used.
 */
export async function upstreamAgent(
  { url, token }: UpstreamAddress,
  { allowPrivate, timing }: UpstreamOptions,
  own: Partial<Agent> = {},
): Promise<Agent> {
  let client: A2aClient;
  try {
    const credential = token === undefined ? {} : { token };
    client = await connect(url, { allowPrivate, ...credential }, AbortSignal.timeout(CONNECT_MS));
  } catch (error) {
    const what = error instanceof ClientFailure ? error.message : `its card did not come in ${CONNECT_MS / 1000} s`;
    const advice = ClientFailure.is(error, 'not-allowed') ? ' (ACTA_UPSTREAM_ALLOW_PRIVATE=true allows it)' : '';
    throw new AgentModuleError(`ACTA_AGENTS: the agent at ${url} cannot be used: ${what}${advice}`);
  }
  const { card } = client;
  // What one skill takes, the agent takes: which skill a message is for is its own to see.
  const input = new Set([card.inputModes, ...card.skills.map(({ inputModes = [] }) => inputModes)].flat());
  const output = new Set([card.outputModes, ...card.skills.map(({ outputModes = [] }) => outputModes)].flat());
  return {
    name: nameFor(card.name, url),
    description: card.description || `The agent at ${url}`,
    version: card.version || '1.0.0',
    skills: card.skills,
    ...(input.size > 0 ? { inputModes: [...input] } : {}),
    ...(output.size > 0 ? { outputModes: [...output] } : {}),
    extensions: card.extensions,
    ...own,
    async calledOff({ taskId }) {
      await client.cancelTask(taskId, AbortSignal.timeout(CONNECT_MS));
    },
    run: (ctx) => new UpstreamTurn(client, ctx, { ...UPSTREAM_TIMING, ...timing }).run(),
  };
}

/** A card's name is for people; here it is also an address. */
function nameFor(name: string, url: string): string {
  const plain = (text: string) =>
    text
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+|-+$/g, '')
      .slice(0, 64);
  return plain(name) || plain(new URL(url).hostname) || 'upstream';
}
