import type { IncomingMessage } from 'node:http';
import { BOUNDS } from '@app/domain';
import { asRequestError, checkMediaType, type RequestError, TransportError } from '@app/wire';
import type { FastifyInstance } from 'fastify';
import type { EdgeRequest } from '../callers/edge-request.js';
import { requestMediaTypesOf } from '../routes/surfaces.js';

/** How long a client whose body is rejected may take to read the response, before the connection is closed. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Replaces the body parsers of Fastify by one that checks the media type and reads the bytes up to the limit. A body that
 * is rejected becomes the value of `request.body`, so that the surface of the request encodes the error.
 */
export function readRequestBodies(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (request: unknown, payload: IncomingMessage, done) => {
    readBody(request as EdgeRequest, payload).then((body) => done(null, body), done);
  });
}

/** Returns the bytes of the body; none if there is no body. Errors: PayloadTooLarge, UnsupportedMediaType, InvalidRequest. */
export function bodyOf(request: EdgeRequest): Buffer {
  if (request.body instanceof Error) throw request.body;
  if (request.body !== undefined) return request.body;
  // Fastify does not pass a body without a content type to the parser.
  if (hasBody(request)) checkMediaType({ contentType: request.headers['content-type'] });
  return Buffer.alloc(0);
}

/** Whether a body follows the headers. */
export const hasBody = ({ headers }: EdgeRequest): boolean =>
  Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;

/** Reads nothing more of the body, and closes the connection after the response. */
export function leaveBodyUnread(raw: IncomingMessage): void {
  const { socket } = raw;
  socket.pause();
  // Node resumes the socket after the response, to discard the body.
  socket.on('resume', () => {
    if (!raw.complete) socket.pause();
  });
  closeAfterResponse(raw);
}

/** Discards the remaining body, and closes the connection after the response. */
function discardBody(raw: IncomingMessage): void {
  raw.resume();
  closeAfterResponse(raw);
}

/**
 * Closes the connection in two steps. If it were closed while the client sends, the client would get a reset and might not
 * see the response.
 */
function closeAfterResponse(raw: IncomingMessage): void {
  const { socket } = raw;
  socket.destroySoon = () => {
    socket.end();
    // With no body left to read, the end of the client's side is read, and the connection closes without the timeout.
    if (raw.complete) socket.resume();
    setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  };
}

async function readBody(request: EdgeRequest, payload: IncomingMessage): Promise<Buffer | RequestError> {
  if (Number(request.headers['content-length'] ?? 0) > BOUNDS.requestBodyBytes) return rejectTooLarge(payload);
  const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers;
  try {
    checkMediaType({ contentType, contentEncoding }, requestMediaTypesOf(request));
  } catch (error) {
    return asRequestError(error);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The connection must survive an early exit from the loop, because the error response is written to it.
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > BOUNDS.requestBodyBytes) return rejectTooLarge(payload);
      chunks.push(chunk);
    }
  } catch {
    // The client disconnected, or sent invalid chunks.
    return new TransportError('InvalidRequest', 'the body ended before it was complete; send it again', {});
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
}

/** Returns the error of a body that exceeds the limit. */
export function payloadTooLarge(): TransportError<'PayloadTooLarge'> {
  const limit = BOUNDS.requestBodyBytes;
  const message = `the body exceeds ${limit} bytes; split the message, or send files by URL`;
  return new TransportError('PayloadTooLarge', message, { limit });
}

function rejectTooLarge(payload: IncomingMessage): RequestError {
  discardBody(payload);
  return payloadTooLarge();
}
