import type { JsonObject } from '@app/domain';
import { httpError as simpleError } from '../rest/errors.js';
import type { RequestError } from '../transport/transport-error.js';

/** The native API's error: the sentence, its kind, and the details to act on (a fenced worker reads the current generations). */
export function httpError(error: RequestError): { status: number; body: JsonObject } {
  const { status: simple, body } = simpleError(error);
  // Who asks is the agent's own worker, and no client behind whom the agent stands.
  const status = error.kind === 'InvalidAgentResponse' ? 422 : simple;
  return { status, body: { ...body, kind: error.kind, details: { ...error.details } as JsonObject } };
}
