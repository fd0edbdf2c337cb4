import { DomainError, type Json, type JsonObject } from '@app/domain';
import {
  encodeError,
  encodeSseFrame,
  EVENT_STREAM_MEDIA_TYPE,
  jsonRpcHttpStatus,
  native,
  prefersEventStream,
  type RequestError,
  rest,
  retryAfterSeconds,
  TransportError,
} from '@app/wire';
import type { FastifyReply } from 'fastify';
import { type EdgeRequest, pathOf } from '../callers/edge-request.js';
import { errorCodecOf, isStreamingMethod } from './codecs.js';
import { leaveBodyUnread } from './request-body.js';
import { responseMediaTypeOf, surfaceOf } from '../routes/surfaces.js';

interface ErrorResponse {
  readonly status: number;
  readonly body: JsonObject;
}

/** Sends JSON with the media type of the request's surface. */
export function sendJson(request: EdgeRequest, reply: FastifyReply, body: Json, status = 200): void {
  void reply.code(status).header('Content-Type', responseMediaTypeOf(request)).send(JSON.stringify(body));
}

/** Sends an error in the format of the request's surface. */
export function sendError(request: EdgeRequest, reply: FastifyReply, error: RequestError): void {
  const { status, body } = encodeForSurface(request, error);
  setErrorHeaders(reply, error);
  if (status === 200 && expectsEventStream(request)) sendOneEvent(reply, body);
  else sendJson(request, reply, body, status);
}

/**
 * Whether the client of a JSON-RPC call reads events only. The official SDKs of Go and Java then ignore a JSON response, and those
 * of Python and JavaScript for v0.3 do not read the error in it.
 */
function expectsEventStream(request: EdgeRequest): boolean {
  const { rpcMethod, headers } = request;
  if (rpcMethod === undefined || !isStreamingMethod(rpcMethod) || !prefersEventStream(headers.accept)) return false;
  return errorCodecOf(request).version !== '1.0' || !JSON_READER.test(headers['user-agent'] ?? '');
}

/**
 * The HTTP client of the Python SDK, which in v1.0 reads an error in JSON, too, and of the A2A TCK, which accepts events only and
 * requires JSON (STREAM-SUB-003).
 */
const JSON_READER = /^python-httpx\//;

/** Sends an event stream of one event. */
function sendOneEvent(reply: FastifyReply, body: Json): void {
  void reply
    .code(200)
    .headers({ 'Content-Type': EVENT_STREAM_MEDIA_TYPE, 'Cache-Control': 'no-store' })
    .send(encodeSseFrame({ data: JSON.stringify(body) }));
}

/** Sends an error without reading the body, and closes the connection. */
export function rejectUnread(request: EdgeRequest, reply: FastifyReply, error: RequestError): void {
  leaveBodyUnread(request.raw);
  reply.header('Connection', 'close');
  sendError(request, reply, error);
}

function setErrorHeaders(reply: FastifyReply, error: RequestError): void {
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('Retry-After', String(retryAfter));
  if (error.kind === 'Unauthenticated') reply.header('WWW-Authenticate', 'Bearer');
  if (TransportError.is(error, 'MethodNotAllowed')) reply.header('Allow', error.details.allow);
  if (error.kind === 'PayloadTooLarge') reply.header('Connection', 'close');
}

function encodeForSurface(request: EdgeRequest, error: RequestError): ErrorResponse {
  const surface = surfaceOf(request);
  switch (surface) {
    case 'a2a-json-rpc': {
      const body = encodeError(request.rpcId ?? null, errorCodecOf(request).rpcError(error));
      return { status: jsonRpcHttpStatus(error), body };
    }
    case 'a2a-http-json':
      return errorCodecOf(request).httpError(withDefaultVersion(request, error));
    case 'api':
      return error.kind === 'TaskNotFound' ? apiNotFound(request, error) : native.httpError(error);
    case 'rest':
    case 'discovery':
    case 'operations':
    case 'other':
      return rest.httpError(error);
  }
}

/**
 * Names the version that was assumed because the header is missing. The paths of both versions are the same, so without
 * the header a valid body of 1.0 fails as an incomplete body of 0.3.
 */
function withDefaultVersion(request: EdgeRequest, error: RequestError): RequestError {
  const hasVersion = (request.headers['a2a-version'] ?? '') !== '';
  if (hasVersion || !DomainError.is(error, 'InvalidParameters')) return error;
  const { version } = errorCodecOf(request);
  const message = `${error.message} (read as A2A ${version}, because the A2A-Version header is missing)`;
  return new DomainError(error.kind, message, error.details);
}

/** The paths of the worker API below one run. */
const RUN_PATH = /^\/api\/runs\/([^/]+)\//;

/** Workers address runs, not tasks. The response is the same for a missing run and for a run of another key. */
function apiNotFound(request: EdgeRequest, error: RequestError): ErrorResponse {
  const [, id] = RUN_PATH.exec(pathOf(request.url)) ?? [];
  if (id === undefined) return native.httpError(error);
  const message = 'run not found: this key has claimed no such run; use the runId of a claim with the same key';
  return { status: 404, body: { error: message, kind: 'RunNotFound', details: { runId: decodeURIComponent(id) } } };
}
