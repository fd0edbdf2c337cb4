import type { JsonObject } from '@app/domain';
import { httpError as restError } from '../rest/errors.js';
import type { RequestError } from '../transport/transport-error.js';

/** Encodes an error with its message, kind and details. A fenced worker reads the current generations from the details. */
export function httpError(error: RequestError): { status: number; body: JsonObject } {
  const { status, body } = restError(error);
  return {
    // The worker itself sent the invalid response, so the error is not a bad gateway (502) but an invalid request.
    status: error.kind === 'InvalidAgentResponse' ? 422 : status,
    body: { ...body, kind: error.kind, details: { ...error.details } as JsonObject },
  };
}
