import { DomainError } from '@app/domain';
import { asDomainError } from '@app/wire';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ClientGone, type EdgeRequest } from './caller.js';
import { answerOn } from './surfaces.js';

/** Writes whatever a controller throws as the surface that was asked writes its errors. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<EdgeRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const error = domainErrorOf(thrown);
    if (error.kind === 'Internal') reportInternal(this.logger, thrown, request);
    answerOn(request, reply, error);
  }
}

/** The log has what the client is not told; never what was in the request. */
export function reportInternal(logger: Logger, thrown: unknown, request: { id: unknown }): void {
  if (thrown instanceof ClientGone) return;
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown));
  logger.error({ requestId: request.id, error: `${name}: ${message}`, stack });
}

/** Nest throws for routes that do not exist, Fastify for requests that it cannot read; both have a status. */
export function domainErrorOf(thrown: unknown): DomainError {
  if (thrown instanceof DomainError) return thrown;
  const status = thrown instanceof HttpException ? thrown.getStatus() : (thrown as { statusCode?: number }).statusCode;
  if (status === 404) return new DomainError('MethodNotFound', 'there is nothing at this path', { method: '' });
  if (status === 413) return new DomainError('PayloadTooLarge', 'the body is too large', { limit: 0 });
  if (status === 415) return new DomainError('UnsupportedMediaType', 'unsupported media type', { mediaType: '' });
  if (status !== undefined && status >= 400 && status < 500) {
    return new DomainError('InvalidRequest', 'the request cannot be read', {});
  }
  return asDomainError(thrown);
}
