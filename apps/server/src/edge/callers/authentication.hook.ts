import type { Authenticator } from '@app/access';
import type { Config } from '@app/config';
import { DomainError } from '@app/domain';
import { isLoopback } from '@app/network';
import type { FastifyInstance } from 'fastify';
import { toRequestError } from '../http/error.filter.js';
import { rejectUnread } from '../http/json-response.js';
import { isMetrics, isPublic } from '../http/surfaces.js';
import type { EdgeRequest } from './edge-request.js';
import { rateLimiter } from './rate-limiter.js';

/**
 * Authenticates every request before its body is read, and limits the rate of each caller. Public paths need no
 * credential. `/metrics` needs none on a loopback address without a proxy.
 */
export function authenticateRequests(
  fastify: FastifyInstance,
  authenticator: Authenticator,
  { auth, host, trustProxy, rateLimit }: Pick<Config, 'auth' | 'host' | 'trustProxy' | 'rateLimit'>,
): void {
  const limitRate = rateLimiter(rateLimit);
  const isMetricsPublic = isLoopback(host) && trustProxy === false;
  fastify.addHook('onRequest', async (incoming, reply) => {
    const request = incoming as EdgeRequest;
    if (request.url.startsWith('/a2a') || request.url.startsWith('/.well-known')) reply.header('Vary', 'A2A-Version');
    if (auth === 'none' && !isLoopbackRequest(request)) return rejectUnread(request, reply, notLoopback());
    if (isPublic(request) || (isMetricsPublic && isMetrics(request))) return;
    try {
      request.principal = await authenticator.authenticate({
        authorization: request.headers.authorization,
        remoteAddress: request.ip,
      });
      limitRate(request.principal);
    } catch (error) {
      rejectUnread(request, reply, toRequestError(error));
    }
  });
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

const notLoopback = () =>
  new DomainError('Forbidden', 'Host and Origin must name a loopback address, because ACTA_AUTH is none', {});
