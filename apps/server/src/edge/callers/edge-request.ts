import { credentialRequired } from '@app/access';
import type { Principal } from '@app/domain';
import type { RequestError, RpcId } from '@app/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A request after the hooks of the HTTP edge. */
export interface EdgeRequest extends FastifyRequest {
  /** Absent on public routes. */
  principal?: Principal;
  /** The bytes, at most `BOUNDS.requestBodyBytes`, or the reason why they were not read. Use `bodyOf` to read it. */
  body: Buffer | RequestError | undefined;
  /** The id of the JSON-RPC call in the body. Absent until the body is parsed, and on other surfaces. */
  rpcId?: RpcId;
  /** The method of the JSON-RPC call in the body, which may be unknown. Absent like `rpcId`. */
  rpcMethod?: string;
}

/** Returns the path of a URL without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0]!;

/** Returns the authenticated caller. Errors: Unauthenticated. */
export function principalOf(request: EdgeRequest): Principal {
  if (request.principal === undefined) throw credentialRequired();
  return request.principal;
}

/** Returns the id of the last event that a reconnecting stream client has received. */
export function lastEventIdOf(request: EdgeRequest): string | undefined {
  const header = request.headers['last-event-id'];
  return Array.isArray(header) ? header.join(',') : header === '' ? undefined : header;
}

/** The reason of an aborted request whose client closed the connection. It is not an error of the server. */
export class ClientDisconnected extends Error {}

/** Returns a signal that aborts when the client disconnects. It also aborts after the response, which has no effect. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(new ClientDisconnected('the client disconnected'));
  if (reply.raw.destroyed) abort();
  else reply.raw.once('close', abort);
  return controller.signal;
}
