import { DomainError, type JsonObject } from '@app/domain';
import {
  A2A_JSON_MEDIA_TYPE,
  type A2aCodec,
  answerMediaType,
  encodeFailure,
  JSON_MEDIA_TYPE,
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

/** Where a method is that a version lacks. Said, and never done: the header alone chooses the version. */
export function whereMethodIs(codec: A2aCodec, method: string): string {
  const other = Object.values(CODECS).find(({ methods }) => methods.has(method));
  return other === undefined ? `it has ${[...codec.methods.keys()].join(', ')}` : hasIt(other);
}

const hasIt = ({ version }: A2aCodec): string => `A2A ${version} has it: send A2A-Version: ${version}`;

/** What the HTTP+JSON binding is asked. Errors: MethodNotAllowed; MethodNotFound, which says what to do about it. */
export function httpRouteOf(codec: A2aCodec, request: EdgeRequest): ReturnType<A2aCodec['http']['route']> {
  const routeIn = ({ http }: A2aCodec) => http.route(request.method, httpJsonPathOf(request));
  try {
    return routeIn(codec);
  } catch (error) {
    if (!DomainError.is(error, 'MethodNotFound')) throw error;
    const other = Object.values(CODECS).find((candidate) => candidate !== codec && finds(candidate, routeIn));
    const elsewhere =
      other === undefined
        ? 'below /a2a/v1 there are message:send, message:stream, tasks/{id} and tasks/{id}:cancel, among others'
        : hasIt(other);
    throw new DomainError(
      'MethodNotFound',
      `A2A ${codec.version} has nothing at this path; ${elsewhere}`,
      error.details,
    );
  }
}

function finds(codec: A2aCodec, routeIn: (codec: A2aCodec) => unknown): boolean {
  try {
    return routeIn(codec) !== undefined;
  } catch {
    return false;
  }
}

/** Paths that anyone may read: discovery, also of agents that are not there, and probes. */
const PUBLIC = [/^(\/agents\/[^/]+)?\/\.well-known\//, /^\/health(\/|$)/];

export const isPublic = (request: { url: string }): boolean => PUBLIC.some((path) => path.test(pathOf(request.url)));

/** What a server measures of itself: public on a loopback address only. */
export const isMetrics = (request: { url: string }): boolean => /^\/metrics\/?$/.test(pathOf(request.url));

const SURFACES = {
  'a2a-http-json': /^\/a2a\/v1(\/|$)/,
  'a2a-json-rpc': /^\/a2a\/?$/,
  rest: /^\/a2a\//,
  api: /^\/api\//,
  discovery: /^\/\.well-known\//,
  operations: /^\/(health|metrics)(\/|$)/,
  console: /^\/console(\/|$)/,
};

/** Which surface a request is for, in a word. */
export function surfaceOf(request: { url: string }): string {
  const path = pathOf(request.url);
  return Object.entries(SURFACES).find(([, paths]) => paths.test(path))?.[0] ?? 'other';
}

const pathOf = (url: string): string => url.split('?', 1)[0]!;

/** A2A's HTTP+JSON binding; the rest of the path is what it is asked. */
const HTTP_JSON = /^\/a2a\/v1(?:\/|$)/;

/** What is asked of the HTTP+JSON binding: the path below its address, percent-encoded as it was sent. */
const httpJsonPathOf = (request: { url: string }): string =>
  pathOf(request.url).replace(HTTP_JSON, '').replace(/\/$/, '');

/** Media types that a request's body may have. */
export const mediaTypesOf = (request: { url: string }): string[] =>
  HTTP_JSON.test(pathOf(request.url)) ? [JSON_MEDIA_TYPE, A2A_JSON_MEDIA_TYPE] : [JSON_MEDIA_TYPE];

/** Media type of a JSON answer. */
export const answerTypeOf = (request: EdgeRequest): string =>
  HTTP_JSON.test(pathOf(request.url)) ? answerMediaType(request.headers.accept) : JSON_MEDIA_TYPE;

/** An error as the surface of this path writes it. */
function errorOn(request: EdgeRequest, error: DomainError): { status: number; body: JsonObject } {
  const path = pathOf(request.url);
  if (path === '/a2a' || path === '/a2a/') {
    return { status: jsonRpcStatus(error), body: encodeFailure(null, codecToRefuseIn(request).rpcError(error)) };
  }
  if (HTTP_JSON.test(path)) return codecToRefuseIn(request).httpError(withVersionRead(request, error));
  if (!path.startsWith('/api/')) return rest.httpError(error);
  const [, run] = RUN.exec(path) ?? [];
  return run !== undefined && error.kind === 'TaskNotFound' ? runNotFound(run) : native.httpError(error);
}

/** Both versions have the same paths here, so that a body of 1.0 without the header seems to lack what it has. */
function withVersionRead(request: EdgeRequest, error: DomainError): DomainError {
  const silent = (request.headers['a2a-version'] ?? '') === '';
  if (!silent || !DomainError.is(error, 'InvalidParameters')) return error;
  const { version } = codecToRefuseIn(request);
  return new DomainError(
    error.kind,
    `${error.message} (read as A2A ${version}, as no A2A-Version came)`,
    error.details,
  );
}

/** What a worker asks of one of its runs. */
const RUN = /^\/api\/runs\/([^/]+)\//;

/** A worker knows runs by their ids, and no tasks. The same for a run that is another's as for none. */
function runNotFound(id: string): { status: number; body: JsonObject } {
  const error = 'run not found: this key has claimed no such run; give the runId of a claim of its own';
  return { status: 404, body: { error, kind: 'RunNotFound', details: { runId: decodeURIComponent(id) } } };
}

/** Writes an error as the answer. */
export function answerOn(request: EdgeRequest, reply: FastifyReply, error: DomainError): void {
  const { status, body } = errorOn(request, error);
  describeRefusal(reply, error);
  void reply.code(status).header('Content-Type', answerTypeOf(request)).send(JSON.stringify(body));
}

/** Headers that a refusal has beside its body. */
export function describeRefusal(reply: FastifyReply, error: DomainError): void {
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('Retry-After', String(retryAfter));
  if (error.kind === 'Unauthenticated') reply.header('WWW-Authenticate', 'Bearer');
  if (DomainError.is(error, 'MethodNotAllowed')) reply.header('Allow', error.details.allow);
  if (error.kind === 'PayloadTooLarge') reply.header('Connection', 'close');
}
