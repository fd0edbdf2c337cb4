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
import { ClientGone, type EdgeRequest } from './caller.js';
import type { Routes } from './routes.js';
import { answerOn } from './surfaces.js';

/** Writes whatever a controller throws as the surface that was asked writes its errors. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  constructor(private readonly routes: Routes) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<EdgeRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    // Nest's own, of a request that no controller takes.
    const stray = thrown instanceof NotFoundException;
    const error = stray ? this.routes.nothingAt(request.method, request.url) : refusalOf(this.logger, thrown, request);
    answerOn(request, reply, error);
  }
}

/** The error to answer with. The log has what the client is not told; never what was in the request. */
export function refusalOf(logger: Logger, thrown: unknown, request: { id: unknown }): RequestError {
  const error = domainErrorOf(thrown);
  if (thrown === error || thrown instanceof ClientGone) return error;
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error.kind === 'Internal') logger.error({ requestId: request.id, error: `${name}: ${message}`, stack });
  if (error.kind === 'Overloaded') logger.warn({ requestId: request.id, error: `${name}: ${message}` });
  return error;
}

/** Nest throws what has a status, and so does Fastify for requests that it cannot read. */
export function domainErrorOf(thrown: unknown): RequestError {
  if (thrown instanceof DomainError || thrown instanceof TransportError) return thrown;
  if (isUnavailable(thrown)) {
    // Whatever came of it: a message that is sent again under its own id is taken in once.
    return new DomainError('Overloaded', 'the database cannot be asked at the moment; try again', {
      retryAfterSeconds: 1,
    });
  }
  if ((thrown as { code?: unknown } | undefined)?.code === 'FST_ERR_BAD_URL') {
    return new TransportError('InvalidRequest', 'the path cannot be read: percent-encode it, as UTF-8', {});
  }
  const status =
    thrown instanceof HttpException ? thrown.getStatus() : (thrown as { statusCode?: number } | undefined)?.statusCode;
  if (status === 413) return new TransportError('PayloadTooLarge', 'the body is too large', { limit: 0 });
  if (status === 415) return new TransportError('UnsupportedMediaType', 'unsupported media type', { mediaType: '' });
  if (status !== undefined && status >= 400 && status < 500) {
    return new TransportError('InvalidRequest', 'the request cannot be read', {});
  }
  return asRequestError(thrown);
}
