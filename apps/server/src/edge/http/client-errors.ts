import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_MEDIA_TYPE, type RequestError, TransportError } from '@app/wire';
import type { ConnectionError, FastifyInstance, FastifyReply } from 'fastify';
import { toOriginForm, toRootPath } from '../callers/agent-scope.js';
import type { EdgeRequest } from '../callers/edge-request.js';
import type { RouteTable } from '../routes/route-table.js';
import { encodeErrorFor, type ErrorContext, errorContextOf } from './error-response.js';

/** The limit of Node for the request line and the headers. */
export const MAX_HEADER_BYTES = 49_152;

/** The reply to the last request of each connection. */
const lastReply = new WeakMap<Socket, FastifyReply>();

/** Remembers the last request of each connection, for an error in its body or after it. */
export function rememberRequests(fastify: FastifyInstance): void {
  // Without a promise, because it runs for every request.
  fastify.addHook('onRequest', (request, reply, done) => {
    lastReply.set(request.raw.socket, reply);
    done();
  });
}

/**
 * Responds to a request that Node rejects, in the format of the surface as far as it is known, and closes the connection. If the response
 * to an earlier request is pending or has begun, it only closes the connection: the client would take the error for that response.
 */
export function respondToClientError(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const last = lastReply.get(socket);
  const pending = last === undefined || last.raw.writableFinished ? undefined : last;
  const mustNotWrite = pending !== undefined && (pending.request.raw.complete || pending.raw.headersSent);
  if (!socket.writable || mustNotWrite) {
    socket.destroy();
    return;
  }
  const context =
    pending === undefined ? contextOf(this.routeTable, error) : errorContextOf(pending.request as EdgeRequest);
  const rejected = rejectionOf(error);
  const { body } = encodeErrorFor(context, rejected.error);
  const text = JSON.stringify(body);
  socket.end(
    [
      `HTTP/1.1 ${rejected.status} ${STATUS_CODES[rejected.status]}`,
      `Content-Type: ${JSON_MEDIA_TYPE}`,
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Connection: close',
      '',
      text,
    ].join('\r\n'),
  );
}

/** Returns the context of a request that Node has not accepted, from what the client has sent last. */
function contextOf(routeTable: RouteTable, error: ConnectionError): ErrorContext {
  // It starts with the request line, unless the headers arrived in several parts.
  const { rawPacket } = error as unknown as { rawPacket?: Buffer };
  const head = rawPacket?.toString('latin1') ?? '';
  const [, target = '/'] = /^\S+ (\S+)/.exec(head) ?? [];
  const [, version] = /\r\na2a-version:[ \t]*([\w.]*)/i.exec(head) ?? [];
  const url = toRootPath(toOriginForm(target));
  return { surface: routeTable.configOf(url).surface ?? 'other', url, version };
}

function rejectionOf({ code }: ConnectionError): { readonly status: number; readonly error: RequestError } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': {
      const message = `the request line and the headers have more than ${MAX_HEADER_BYTES} bytes; send fewer or shorter headers`;
      return { status: 431, error: new TransportError('HeadersTooLarge', message, { limit: MAX_HEADER_BYTES }) };
    }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        status: 408,
        error: new TransportError('RequestTimeout', 'the request did not arrive in time; send it again', {}),
      };
    default: {
      const message = `the request is not valid HTTP/1.1 (${code ?? 'unknown error'}); correct its request line, headers and length`;
      return { status: 400, error: new TransportError('InvalidRequest', message, {}) };
    }
  }
}
