import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_MEDIA_TYPE, type RequestError, TransportError } from '@app/wire';
import type { ConnectionError, FastifyInstance } from 'fastify';
import { encodeErrorFor } from './error-response.js';

/** The limit of Node for the request line and the headers. */
export const MAX_HEADER_BYTES = 32_768;

/**
 * Responds to a request that Node rejects before a route is found, in the format of the surface if its path is known, and closes the
 * connection.
 */
export function respondToClientError(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  // What the client has sent last. It starts with the request line, unless the headers arrived in several parts.
  const { rawPacket } = error as unknown as { rawPacket?: Buffer };
  const head = rawPacket?.toString('latin1') ?? '';
  const [, url = '/'] = /^[A-Z]+ (?:https?:\/\/[^/ ]*)?(\/[^ ]*) HTTP\//.exec(head) ?? [];
  const [, version] = /\r\na2a-version:[ \t]*([\w.]*)/i.exec(head) ?? [];
  const surface = this.routeTable.configOf(url).surface ?? 'other';
  const rejected = rejectionOf(error);
  const { body } = encodeErrorFor({ surface, url, version }, rejected.error);
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
