import { DomainError } from '@app/domain';
import { isUnavailable } from '@app/storage';
import { asRequestError, type RequestError, TransportError } from '@app/wire';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
  NotFoundException,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ClientDisconnected, type EdgeRequest } from '../callers/edge-request.js';
import { sendError } from './json-response.js';
import { payloadTooLarge } from './request-body.js';
import { surfaceOf } from '../routes/surfaces.js';

/** Sends what a controller throws in the error format of the request's surface, and logs what the client does not see. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<EdgeRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    // Thrown by Nest if no route matches, and by UnknownPathsController.
    const isUnrouted = thrown instanceof NotFoundException;
    const error = isUnrouted
      ? request.server.routeTable.routeNotFound(request.method, request.url)
      : toRequestError(thrown);
    if (!isUnrouted && thrown !== error && !(thrown instanceof ClientDisconnected)) this.log(request, error, thrown);
    sendError(request, reply, error);
  }

  private log(request: EdgeRequest, { kind }: RequestError, thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const fields = { requestId: request.id, surface: surfaceOf(request), error };
    if (kind === 'Internal') this.logger.error({ message: 'request failed', ...fields });
    if (kind === 'Overloaded') this.logger.warn({ message: 'database unavailable', ...fields });
  }
}

/** Converts what a controller, Nest or Fastify throws into the error that the client receives. */
export function toRequestError(thrown: unknown): RequestError {
  if (thrown instanceof DomainError || thrown instanceof TransportError) return thrown;
  if (isUnavailable(thrown)) {
    // The client can repeat a send safely: a repeated messageId is accepted once.
    return new DomainError('Overloaded', 'the database is unavailable; try again', { retryAfterSeconds: 1 });
  }
  if ((thrown as { code?: unknown } | undefined)?.code === 'FST_ERR_BAD_URL') {
    return new TransportError('InvalidRequest', 'the path is not valid; percent-encode it as UTF-8', {});
  }
  const status =
    thrown instanceof HttpException ? thrown.getStatus() : (thrown as { statusCode?: number } | undefined)?.statusCode;
  if (status === 413) return payloadTooLarge();
  if (status === 415) {
    const message = 'the Content-Type is not a media type; send application/json';
    return new TransportError('UnsupportedMediaType', message, { mediaType: '' });
  }
  if (status !== undefined && status >= 400 && status < 500) {
    const reason = thrown instanceof Error ? thrown.message : `status ${status}`;
    return new TransportError('InvalidRequest', `the request is not valid: ${reason}`, {});
  }
  return asRequestError(thrown);
}
