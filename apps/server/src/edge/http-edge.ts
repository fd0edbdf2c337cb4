import type { IncomingMessage } from 'node:http';
import { type Authenticator, TokenBuckets } from '@app/access';
import { type Config } from '@app/config';
import { isLoopback } from '@app/network';
import { BOUNDS, DomainError, type Principal } from '@app/domain';
import { asRequestError, checkMediaType, type RequestError, TransportError } from '@app/wire';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { EdgeRequest } from './caller.js';
import { domainErrorOf } from './error.filter.js';
import { answerOn, isMetrics, isPublic, mediaTypesOf } from './surfaces.js';

/**
 * What every request passes before it is parsed, in this order: who calls, and how often, then the media type, then the
 * body's bytes under their cap, while they stream in. A refusal is written as the surface that was asked writes its errors.
 */
export function guardEdge(
  fastify: FastifyInstance,
  authenticator: Authenticator,
  { auth, host, trustProxy, rateLimit }: Pick<Config, 'auth' | 'host' | 'trustProxy' | 'rateLimit'>,
): void {
  const requireToken = rateLimiter(rateLimit);
  const openMetrics = isLoopback(host) && trustProxy === false;
  fastify.addHook('onRequest', async (incoming, reply) => {
    const request = incoming as EdgeRequest;
    if (request.url.startsWith('/a2a') || request.url.startsWith('/.well-known')) reply.header('Vary', 'A2A-Version');
    if (auth === 'none' && !isFromHere(request)) {
      return refuse(request, reply, new DomainError('Forbidden', NOT_FROM_HERE, {}));
    }
    if (isPublic(request) || (openMetrics && isMetrics(request))) return;
    try {
      request.principal = await authenticator.authenticate({
        authorization: request.headers.authorization,
        remoteAddress: request.ip,
      });
      requireToken(request.principal);
    } catch (error) {
      refuse(request, reply, domainErrorOf(error));
    }
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (request: unknown, payload: IncomingMessage, done) => {
    readBody(request as EdgeRequest, payload).then((body) => done(null, body), done);
  });
}

/** Callers whose rate is remembered. */
const CALLERS = 10_000;

/** Holds each caller to a rate; what it gives throws RateLimited. */
function rateLimiter(perSecond: number): (principal: Principal) => void {
  if (perSecond === 0) return () => undefined;
  const buckets = new TokenBuckets({ capacity: 2 * perSecond, refillPerSecond: perSecond, maxBuckets: CALLERS });
  return ({ tenantId, subject }) => {
    const caller = JSON.stringify([tenantId, subject]);
    const retryAfterSeconds = buckets.secondsUntilToken(caller);
    if (retryAfterSeconds > 0) {
      throw new DomainError('RateLimited', `more than ${perSecond} requests a second: slow down`, {
        retryAfterSeconds,
      });
    }
    buckets.take(caller);
  };
}

const NOT_FROM_HERE = 'without authentication, Host and Origin must name a loopback address';

/**
 * Whether the client means this machine. A web page can lead its visitor's browser to a server on loopback, also under a
 * name of its own that resolves to it (DNS rebinding), but neither Host nor Origin then says loopback.
 */
function isFromHere({ headers: { host = '', origin } }: EdgeRequest): boolean {
  return [`http://${host}`, ...(origin === undefined ? [] : [origin])].every(
    (url) => URL.canParse(url) && isLoopback(new URL(url).hostname),
  );
}

/** Answers without reading the body: the connection closes, so that the rest of it is not taken for a request. */
function refuse(request: EdgeRequest, reply: FastifyReply, error: RequestError): void {
  discardRest(request.raw);
  reply.header('Connection', 'close');
  answerOn(request, reply, error);
}

/** How long a client may go on sending what nobody wants, before it is cut off. */
const LINGER_MS = 1_000;

/**
 * Reads on and throws away, and closes the connection in two steps: a client that is cut off while it sends gets a reset,
 * and may never see the answer that was on its way.
 */
function discardRest(raw: IncomingMessage): void {
  const { socket } = raw;
  raw.resume();
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

/** A body that is refused is an error for the surface to write, not one for Fastify. */
async function readBody(request: EdgeRequest, payload: IncomingMessage): Promise<Buffer | RequestError> {
  if (Number(request.headers['content-length'] ?? 0) > BOUNDS.requestBodyBytes) return tooLarge(payload);
  const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers;
  try {
    checkMediaType({ contentType, contentEncoding }, mediaTypesOf(request));
  } catch (error) {
    return asRequestError(error);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Left early, the loop must leave the connection: the refusal still has to go out on it.
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > BOUNDS.requestBodyBytes) return tooLarge(payload);
      chunks.push(chunk);
    }
  } catch {
    // The client went away, or sent chunks that are none.
    return new TransportError('InvalidRequest', 'the body ended before it was complete', {});
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
}

function tooLarge(payload: IncomingMessage): RequestError {
  discardRest(payload);
  const limit = BOUNDS.requestBodyBytes;
  return new TransportError('PayloadTooLarge', `the body exceeds ${limit} bytes`, { limit });
}
