import { type A2aClient, ClientFailure, connect } from '@app/client';
import type { Agent, UpstreamAddress } from '../agents/agent.contract.js';
import { AgentModuleError } from '../agents/agent-module-error.js';
import { UPSTREAM_TIMING, type UpstreamTiming, UpstreamTurn } from './upstream-turn.js';

export interface UpstreamOptions {
  /** Allows http, and private and loopback addresses. */
  readonly allowPrivate: boolean;
  readonly timing?: Partial<UpstreamTiming>;
}

/** Limit for reading the card, and for a cancel between turns. */
const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Returns an agent whose turns an upstream agent executes over A2A. It has the fields of the upstream agent's card, except
 * those in `own`. Errors: AgentModuleError.
 */
export async function upstreamAgent(
  { url, token }: UpstreamAddress,
  { allowPrivate, timing }: UpstreamOptions,
  own: Partial<Agent> = {},
): Promise<Agent> {
  const client = await connectTo({ url, ...(token === undefined ? {} : { token }) }, allowPrivate);
  const { card } = client;
  // Every skill's modes, because the upstream agent selects the skill.
  const inputModes = [card.inputModes, ...card.skills.map((skill) => skill.inputModes ?? [])].flat();
  const outputModes = [card.outputModes, ...card.skills.map((skill) => skill.outputModes ?? [])].flat();
  return {
    name: agentNameOf(card.name, url),
    description: card.description || `The agent at ${url}`,
    version: card.version || '1.0.0',
    skills: card.skills,
    ...(inputModes.length > 0 ? { inputModes: [...new Set(inputModes)] } : {}),
    ...(outputModes.length > 0 ? { outputModes: [...new Set(outputModes)] } : {}),
    extensions: card.extensions,
    // An upstream agent may work for days.
    timeoutMs: Infinity,
    ...own,
    async onCanceled({ taskId }) {
      await client.cancelTask(taskId, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    },
    run: (ctx) => new UpstreamTurn(client, ctx, { ...UPSTREAM_TIMING, ...timing }).run(),
  };
}

async function connectTo({ url, ...credential }: UpstreamAddress, allowPrivate: boolean): Promise<A2aClient> {
  try {
    return await connect(url, { allowPrivate, ...credential }, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
  } catch (error) {
    const timeout = `its card was not received within ${REQUEST_TIMEOUT_MS / 1_000} s`;
    const reason = error instanceof ClientFailure ? error.message : timeout;
    const advice = ClientFailure.is(error, 'not-allowed') ? ' (ACTA_UPSTREAM_ALLOW_PRIVATE=true allows it)' : '';
    throw new AgentModuleError(`ACTA_AGENTS: the agent at ${url} cannot be used: ${reason}${advice}`);
  }
}

/** Returns a name that can be part of a URL, because the name in a card is free text. */
function agentNameOf(cardName: string, url: string): string {
  const toName = (text: string) =>
    text
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+|-+$/g, '')
      .slice(0, 64);
  return toName(cardName) || toName(new URL(url).hostname) || 'upstream';
}
