import type { DomainError, JsonObject } from '@app/domain';
import {
  type A2aCodec,
  encodeFailure,
  jsonRpcStatus,
  native,
  protocolVersion,
  type ProtocolVersion,
  rest,
  retryAfterSeconds,
  v03,
  v1,
} from '@app/wire';
import type { FastifyReply } from 'fastify';
import type { EdgeRequest } from './caller.js';

/** Every A2A version that this server speaks. A version is removed by removing its line. */
const CODECS: Record<ProtocolVersion, A2aCodec> = { '1.0': v1.codec, '0.3': v03.codec };

export const codecFor = (version: ProtocolVersion): A2aCodec => CODECS[version];

/** The codec that the request's header asks for. Errors: VersionNotSupported. */
export const codecOf = (request: EdgeRequest): A2aCodec => codecFor(protocolVersion(request.headers['a2a-version']));

/** The codec to refuse in when the request's own version may be what is wrong with it. */
export function codecToRefuseIn(request: EdgeRequest): A2aCodec {
  try {
    return codecOf(request);
  } catch {
    return v1.codec;
  }
}

/** Paths that anyone may read: discovery, probes, and the page of the API itself. */
const PUBLIC = [/^\/\.well-known\//, /^\/health(\/|$)/];

export const isPublic = (request: { url: string }): boolean => PUBLIC.some((path) => path.test(pathOf(request.url)));

const pathOf = (url: string): string => url.split('?', 1)[0]!;

/** An error as the surface of this path writes it. */
function errorOn(request: EdgeRequest, error: DomainError): { status: number; body: JsonObject } {
  const path = pathOf(request.url);
  if (path === '/a2a' || path === '/a2a/') {
    return { status: jsonRpcStatus(error), body: encodeFailure(null, codecToRefuseIn(request).rpcError(error)) };
  }
  if (path.startsWith('/a2a/v1/')) return codecToRefuseIn(request).httpError(error);
  return path.startsWith('/api/') ? native.httpError(error) : rest.httpError(error);
}

/** Writes an error as the answer. */
export function answerOn(request: EdgeRequest, reply: FastifyReply, error: DomainError): void {
  const { status, body } = errorOn(request, error);
  describeRefusal(reply, error);
  void reply.code(status).header('Content-Type', 'application/json').send(JSON.stringify(body));
}

/** Headers that a refusal has beside its body. */
export function describeRefusal(reply: FastifyReply, error: DomainError): void {
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('Retry-After', String(retryAfter));
  if (error.kind === 'Unauthenticated') reply.header('WWW-Authenticate', 'Bearer');
  if (error.kind === 'PayloadTooLarge') reply.header('Connection', 'close');
}
