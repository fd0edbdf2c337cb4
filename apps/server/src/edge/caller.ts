import { DomainError, type Principal } from '@app/domain';
import { checkMediaType, type RequestError } from '@app/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A request as the edge hands it on: who calls is known, and the body is bytes within the cap, or the reason why not. */
export interface EdgeRequest extends FastifyRequest {
  principal?: Principal;
  body: Buffer | RequestError | undefined;
}

/** Who calls. The edge lets nobody else come this far. */
export function principalOf(request: EdgeRequest): Principal {
  if (request.principal === undefined) throw new DomainError('Unauthenticated', 'a bearer token is required', {});
  return request.principal;
}

/** The body's bytes. Errors: PayloadTooLarge, UnsupportedMediaType. */
export function bytesOf(request: EdgeRequest): Buffer {
  if (request.body instanceof Error) throw request.body;
  if (request.body !== undefined) return request.body;
  // Fastify gives no body without a content type to its parser.
  const { 'content-type': contentType, 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (Number(length ?? 0) > 0 || coding !== undefined) checkMediaType({ contentType });
  return Buffer.alloc(0);
}

/** W3C trace context of the request, when it is one. */
export function traceParentOf(request: EdgeRequest): string | undefined {
  const header = request.headers['traceparent'];
  return typeof header === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(header)
    ? header
    : undefined;
}

/** Nobody is left to answer; nothing is wrong. */
export class ClientGone extends Error {}

/** Aborts when the client goes away before it has its answer (and, harmlessly, once it has it). */
export function whileConnected(reply: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  const gone = () => aborter.abort(new ClientGone('the client went away'));
  if (reply.raw.destroyed) gone();
  else reply.raw.once('close', gone);
  return aborter.signal;
}

/** Where a client that comes back to a stream goes on. */
export function lastEventIdOf(request: EdgeRequest): string | undefined {
  const header = request.headers['last-event-id'];
  return Array.isArray(header) ? header.join(',') : header === '' ? undefined : header;
}
