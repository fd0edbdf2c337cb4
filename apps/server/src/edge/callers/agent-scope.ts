import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

/** Restricts a command or a query to the tasks of one agent. Without `agent`, the tasks of all agents are in scope. */
export interface AgentScope {
  readonly agent?: string;
}

/** Returns the path of an agent as the path of the root, whether the agent exists or not. Other paths stay unchanged. */
export const toRootPath = (url: string): string => AGENT_PATH.exec(url)?.[2] ?? url;

/** The surfaces of one agent: `/agents/{name}/a2a…` and `/agents/{name}/.well-known/…`. */
const AGENT_PATH = /^\/agents\/([\w.-]+)(\/(?:a2a|\.well-known)(?:[/?].*)?)$/;

const agentByRequest = new WeakMap<IncomingMessage, string>();

/**
 * Returns a `rewriteUrl` function for Fastify that maps the paths of an agent to the paths of the root, and remembers the
 * agent of the request. The path of an unknown agent stays unchanged and matches no route.
 */
export const rewriteAgentPath =
  (isAgent: (name: string) => boolean) =>
  (raw: IncomingMessage): string => {
    const url = toOriginForm(raw.url ?? '/');
    const [, name, path] = AGENT_PATH.exec(url) ?? [];
    if (name === undefined || path === undefined || !isAgent(name)) return url;
    agentByRequest.set(raw, name);
    return path;
  };

/**
 * Returns a request target as a path with a query (RFC 9112, section 3.2), without percent-encoded characters that need no
 * encoding (RFC 3986, section 6.2.2.2). Without it, the router would find routes for forms that nothing else recognizes:
 * `http://host/health`, `*health` and `/%61pi/tasks`.
 */
export function toOriginForm(target: string): string {
  const url = target.replace(/^https?:\/\/[^/?]*/i, '');
  const [path = '', ...query] = url.split('?');
  const normalized = [path.replace(PERCENT_ENCODED, decodeUnreserved), ...query].join('?');
  return normalized.startsWith('/') ? normalized : `/${normalized}`;
}

const PERCENT_ENCODED = /%[2-7][0-9a-f]/gi;

function decodeUnreserved(encoded: string): string {
  const char = String.fromCharCode(parseInt(encoded.slice(1), 16));
  return /[\w.~-]/.test(char) ? char : encoded;
}

/** Returns the agent of the request's path; undefined at the root, where the default agent responds. */
export const agentOf = (request: FastifyRequest): string | undefined => agentByRequest.get(request.raw);

/** Returns the agent scope of the request's path. */
export const agentScopeOf = (request: FastifyRequest): AgentScope => ({ agent: agentOf(request) });
