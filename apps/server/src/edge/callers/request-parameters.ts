import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { agentScopeOf } from './agent-scope.js';
import { clientOf } from './client.js';
import { type EdgeRequest, lastEventIdOf, principalOf } from './edge-request.js';
import { traceContextOf } from './trace-context.js';

const parameter = <T>(read: (request: EdgeRequest) => T) =>
  createParamDecorator((_data: undefined, context: ExecutionContext) =>
    read(context.switchToHttp().getRequest<EdgeRequest>()),
  );

/** The authenticated caller. Errors: Unauthenticated. */
export const CurrentPrincipal = parameter(principalOf);

/** The agent scope of the request's path. */
export const CurrentScope = parameter(agentScopeOf);

/** The id of the last event that a reconnecting stream client has received; undefined for a new stream. */
export const LastEventId = parameter(lastEventIdOf);

/** The client of the request, as its headers and its connection describe it. */
export const CurrentClient = parameter(clientOf);

/** The W3C trace context of the request; undefined if it has none. */
export const CurrentTrace = parameter(traceContextOf);
