import type { Json } from '@app/domain';
import {
  encodeSseFrame,
  EVENT_STREAM_MEDIA_TYPE,
  prefersEventStream,
  type RequestError,
  retryAfterSeconds,
  TransportError,
} from '@app/wire';
import type { FastifyReply } from 'fastify';
import type { EdgeRequest } from '../callers/edge-request.js';
import { responseMediaTypeOf } from '../routes/surfaces.js';
import { errorCodecOf, isStreamingMethod } from './codecs.js';
import { encodeErrorFor, errorContextOf } from './error-response.js';
import { leaveBodyUnread } from './request-body.js';

/** Sends JSON with the media type of the request's surface. */
export function sendJson(request: EdgeRequest, reply: FastifyReply, body: Json, status = 200): void {
  void reply.code(status).header('Content-Type', responseMediaTypeOf(request)).send(JSON.stringify(body));
}

/** Sends an error in the format of the request's surface. `httpStatus` replaces the status of the error. */
export function sendError(request: EdgeRequest, reply: FastifyReply, error: RequestError, httpStatus?: number): void {
  const { status: ownStatus, body } = encodeErrorFor(errorContextOf(request), error);
  const status = httpStatus ?? ownStatus;
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
  return (
    errorCodecOf(request.headers['a2a-version']).version !== '1.0' || !JSON_READER.test(headers['user-agent'] ?? '')
  );
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
export function rejectUnread(
  request: EdgeRequest,
  reply: FastifyReply,
  error: RequestError,
  httpStatus?: number,
): void {
  leaveBodyUnread(request.raw);
  reply.header('Connection', 'close');
  sendError(request, reply, error, httpStatus);
}

function setErrorHeaders(reply: FastifyReply, error: RequestError): void {
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('Retry-After', String(retryAfter));
  if (error.kind === 'Unauthenticated') reply.header('WWW-Authenticate', 'Bearer');
  if (TransportError.is(error, 'MethodNotAllowed')) reply.header('Allow', error.details.allow);
  if (error.kind === 'PayloadTooLarge') reply.header('Connection', 'close');
}
