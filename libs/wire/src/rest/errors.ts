import { DomainError, invalidParameters, type JsonObject } from '@app/domain';
import type { RequestError, RequestErrorKind } from '../transport/transport-error.js';

/** HTTP statuses of the simple REST API. */
const STATUS: Record<RequestErrorKind, number> = {
  TaskNotFound: 404,
  TaskNotCancelable: 409,
  TaskEnded: 409,
  ArtifactNotFound: 404,
  InvalidParameters: 400,
  ContentTypeNotSupported: 400,
  UnsupportedOperation: 400,
  PushNotificationNotSupported: 400,
  ExtensionSupportRequired: 400,
  VersionNotSupported: 400,
  InvalidAgentResponse: 502,
  Fenced: 409,
  CommandConflict: 409,
  ParseError: 400,
  InvalidRequest: 400,
  MethodNotFound: 404,
  MethodNotAllowed: 405,
  UnsupportedMediaType: 415,
  DuplicateHeader: 400,
  PayloadTooLarge: 413,
  HeadersTooLarge: 431,
  RequestTimeout: 408,
  Unauthenticated: 401,
  Forbidden: 403,
  RateLimited: 429,
  Overloaded: 503,
  Internal: 500,
};

/** The fields of a message and what a client of the simple REST sends for them. The first prefix that matches counts. */
const OWN_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^message\.messageId$/, 'Idempotency-Key'],
  [/^message\.metadata(?=$|[.[])/, 'metadata'],
  [/^message\.parts\[0\](?:\.(?:data|text))?(?=$|[.[])/, 'input'],
];

/** Returns an error of a send with the names that the client of the simple REST sent. Other errors stay unchanged. */
export function withOwnNames(error: unknown): unknown {
  if (!DomainError.is(error, 'InvalidParameters')) return error;
  const violations = error.details.violations.map(({ field, description }) => ({
    field: ownNameOf(field),
    description,
  }));
  return invalidParameters(...violations);
}

function ownNameOf(field: string): string {
  const [pattern, name] = OWN_NAMES.find(([prefix]) => prefix.test(field)) ?? [];
  return pattern === undefined || name === undefined ? field : field.replace(pattern, name);
}

/** Encodes an error as `{"error": message}`. A missing task always has the same body, so that the body reveals no reason. */
export function httpError(error: RequestError): { status: number; body: JsonObject } {
  const message = error.kind === 'TaskNotFound' ? 'task not found' : error.message;
  return { status: STATUS[error.kind], body: { error: message } };
}
