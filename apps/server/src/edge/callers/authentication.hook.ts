import type { Authenticator } from '@app/access';
import type { Config } from '@app/config';
import { DomainError, type Principal, quoted } from '@app/domain';
import { isLoopback } from '@app/network';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { toRequestError } from '../http/error.filter.js';
import { duplicateHeaderError, missingHostError } from '../http/duplicate-headers.js';
import { rejectUnread } from '../http/json-response.js';
import { hasBody } from '../http/request-body.js';
import type { SurfaceName } from '../routes/route-config.js';
import { routeConfigOf } from '../routes/route-table.js';
import type { EdgeRequest } from './edge-request.js';
import { rateLimiter } from './rate-limiter.js';

/** The surfaces whose responses depend on the version of A2A. */
const VERSIONED: ReadonlySet<SurfaceName | undefined> = new Set([
  'a2a-json-rpc',
  'a2a-http-json',
  'rest',
  'discovery',
] as const);

/**
 * Authenticates every request as its route requires, before its body is read, and limits the rate of each caller. A request
 * with an ambiguous header is rejected first. While a request is authenticated, nothing is read from its connection.
 */
export function authenticateRequests(
  fastify: FastifyInstance,
  authenticator: Authenticator,
  { auth, host, trustProxy, rateLimit }: Pick<Config, 'auth' | 'host' | 'trustProxy' | 'rateLimit'>,
): void {
  const limitRate = rateLimiter(rateLimit);
  const isOnLoopback = isLoopback(host) && trustProxy === false;
  const needsNoCredential = ({ public: when }: FastifyContextConfig) =>
    when === 'always' || (when === 'on-loopback' && isOnLoopback);
  fastify.addHook('onRequest', async (incoming, reply) => {
    const request = incoming as EdgeRequest;
    const config = routeConfigOf(request);
    if (VERSIONED.has(config.surface)) reply.header('Vary', 'A2A-Version');
    const headerError = duplicateHeaderError(request.raw.rawHeaders) ?? missingHostError(request.raw);
    if (headerError !== undefined) return rejectUnread(request, reply, headerError, 400);
    if (auth === 'none' && !isLoopbackRequest(request)) return rejectUnread(request, reply, notLoopback(request));
    if (needsNoCredential(config)) return;
    const { socket } = request.raw;
    const isPaused = hasBody(request);
    if (isPaused) socket.pause();
    try {
      const { authorization } = request.headers;
      request.principal = await authenticator.authenticate({ authorization, remoteAddress: request.ip });
      limitRate(request.principal);
      requireRole(request.principal, request.routeOptions.config);
      if (isPaused) socket.resume();
    } catch (error) {
      rejectUnread(request, reply, toRequestError(error));
    }
  });
}

function requireRole({ role }: Principal, { roles }: FastifyContextConfig): void {
  // A key for the metrics is stored where they are collected, so it can do nothing else.
  const isAllowed = roles === undefined ? role !== 'metrics' : roles.includes(role);
  if (isAllowed) return;
  const required = (roles ?? ['member', 'admin']).join(' or ');
  throw new DomainError(
    'Forbidden',
    `the role ${role} cannot use this path; use a credential with the role ${required}`,
    {},
  );
}

/**
 * Whether the client addressed this machine. A web page can make the browser of a visitor send requests to a server on
 * loopback, also through a host name that resolves to loopback (DNS rebinding). Then Host or Origin names another host.
 */
function isLoopbackRequest({ headers: { host = '', origin } }: EdgeRequest): boolean {
  return [`http://${host}`, ...(origin === undefined ? [] : [origin])].every(
    (url) => URL.canParse(url) && isLoopback(new URL(url).hostname),
  );
}

const notLoopback = ({ headers: { host = '', origin } }: EdgeRequest) =>
  new DomainError(
    'Forbidden',
    `Host ${quoted(host)}${origin === undefined ? '' : ` or Origin ${quoted(origin)}`} is not a loopback address, which ACTA_AUTH=none requires; use http://127.0.0.1`,
    {},
  );
