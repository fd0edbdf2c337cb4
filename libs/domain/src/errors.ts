import { BOUNDS } from './bounds.js';

/** One violation in a request: the path of the field (`message.parts[0]`), and what is wrong with it. */
export interface FieldViolation {
  field: string;
  description: string;
}

/**
 * The kinds of errors, with the details that a wire needs. A kind states a meaning. Codes and statuses belong to the wires,
 * each of which has one table over all kinds.
 */
export interface DomainErrorDetails {
  // The task
  TaskNotFound: { taskId: string };
  TaskNotCancelable: { taskId: string; status: string };
  TaskEnded: { taskId: string; status: string };
  ArtifactNotFound: { taskId: string; artifactId: string };
  // The request
  InvalidParameters: { violations: FieldViolation[] };
  ContentTypeNotSupported: { mediaType: string };
  UnsupportedOperation: { operation: string };
  PushNotificationNotSupported: Record<string, never>;
  ExtensionSupportRequired: { extension: string };
  VersionNotSupported: { version: string };
  // The agent
  InvalidAgentResponse: { taskId: string };
  Fenced: { taskId: string; leaseGeneration: number; dispatcherGeneration: number };
  CommandConflict: { commandId: string };
  // The caller
  Unauthenticated: Record<string, never>;
  Forbidden: Record<string, never>;
  RateLimited: { retryAfterSeconds: number };
  // The server
  Overloaded: { retryAfterSeconds: number };
  Internal: Record<string, never>;
}

export type DomainErrorKind = keyof DomainErrorDetails;

/** The error class of all libraries. `message` is for people: it states what is wrong and what to do. */
export class DomainError<K extends DomainErrorKind = DomainErrorKind> extends Error {
  constructor(
    readonly kind: K,
    message: string,
    readonly details: DomainErrorDetails[K],
  ) {
    super(message);
    this.name = kind;
  }

  static is<K extends DomainErrorKind>(error: unknown, kind: K): error is DomainError<K> {
    return error instanceof DomainError && error.kind === kind;
  }
}

const SHOWN_CHARACTERS = 40;

/** Quotes a text of a request for an error. A long text is cut, because the size of a response must not grow with the request. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`);

/** No task has an id of more than `BOUNDS.idLength` characters. Of a longer one, the details have the beginning. */
export const taskNotFound = (taskId: string) =>
  new DomainError('TaskNotFound', 'task not found', { taskId: taskId.slice(0, BOUNDS.idLength) });

export const invalidParameters = (...violations: FieldViolation[]) =>
  new DomainError(
    'InvalidParameters',
    `invalid parameters: ${violations.map((v) => `${v.field}: ${v.description}`).join('; ')}`,
    { violations },
  );

export const invalidField = (field: string, description: string) => invalidParameters({ field, description });
