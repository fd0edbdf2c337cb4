import type { DomainError, JsonObject } from '@app/domain';
import { httpError as simpleError } from '../rest/errors.js';

/** The native API's error: the sentence, its kind, and the details to act on (a fenced worker reads the current generations). */
export function httpError(error: DomainError): { status: number; body: JsonObject } {
  const { status, body } = simpleError(error);
  return { status, body: { ...body, kind: error.kind, details: { ...error.details } as JsonObject } };
}
