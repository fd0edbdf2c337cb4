import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

/** Every surface of the server again, for one of its agents: `/agents/{name}/a2a`, `/agents/{name}/.well-known/…`. */
const AGENT_PATH = /^\/agents\/([\w.-]+)(\/(?:a2a|\.well-known)(?:[/?].*)?)$/;

const addressed = new WeakMap<IncomingMessage, string>();

/**
 * Lets an agent's paths lead where the root's do, and remembers which agent was meant. A name that no agent has stays as
 * it is, and is found nowhere.
 */
export const agentPaths =
  (isAgent: (name: string) => boolean) =>
  (raw: IncomingMessage): string => {
    const [, name, path] = AGENT_PATH.exec(raw.url ?? '') ?? [];
    if (name === undefined || path === undefined || !isAgent(name)) return raw.url ?? '/';
    addressed.set(raw, name);
    return path;
  };

/** The agent whose path was asked; undefined at the root, where the default agent answers. */
export const agentOf = (request: FastifyRequest): string | undefined => addressed.get(request.raw);

/** The same as a part of commands and queries: an agent's door leads to its own tasks alone, the root to those of all. */
export function doorOf(request: FastifyRequest): { readonly agent?: string } {
  const agent = agentOf(request);
  return agent === undefined ? {} : { agent };
}
