import { hasErrorCode } from '@app/embedded-postgres';

/**
 * The SQLSTATE codes that Acta distinguishes, under their names in appendix A of the Postgres documentation. The codes
 * that start with `AC` are raised by the functions in `migrations/`.
 */
export const SQL_STATE = {
  readOnlySqlTransaction: '25006',
  invalidAuthorizationSpecification: '28000',
  invalidPassword: '28P01',
  invalidCatalogName: '3D000',
  insufficientPrivilege: '42501',
  tooManyConnections: '53300',
  lockNotAvailable: '55P03',
  /** An UPDATE, DELETE or TRUNCATE of a table that only grows. */
  appendOnly: 'AC403',
} as const;

/** The first two characters of a SQLSTATE. */
const SQL_STATE_CLASS = {
  connectionException: '08',
  transactionRollback: '40',
  insufficientResources: '53',
  objectNotInPrerequisiteState: '55',
  operatorIntervention: '57',
  systemError: '58',
} as const;

const UNAVAILABLE_CLASSES: readonly string[] = Object.values(SQL_STATE_CLASS);

/** Classes of errors after which a statement may have been committed, because its connection or its server ended. */
const UNKNOWN_OUTCOME_CLASSES: readonly string[] = [
  SQL_STATE_CLASS.connectionException,
  SQL_STATE_CLASS.operatorIntervention,
  SQL_STATE_CLASS.systemError,
];

/** Codes of the operating system for a server that cannot be reached. */
const NETWORK_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
];

// The errors of the driver and of Kysely for timeouts and lost connections have no code, only a message.
const QUERY_TIMEOUT = /^Query read timeout/;
const CONNECTION_LOST =
  /^(?:Connection terminated|Client (?:has encountered|was closed)|timeout (?:expired|exceeded when trying to connect)|Postgres connection has been discarded)/;

/** Returns the SQLSTATE of an error that the database server reported, or undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  // The driver sets `severity` only on errors from the server. A code alone can come from the operating system.
  return error instanceof Error && 'severity' in error ? (error as { code?: string }).code : undefined;
}

/**
 * Returns whether the database is unavailable. The same statement can succeed later, unlike after an error in the
 * statement.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined) {
    // A server that has become a standby rejects writes with readOnlySqlTransaction.
    return isOfClass(sqlState, UNAVAILABLE_CLASSES) || sqlState === SQL_STATE.readOnlySqlTransaction;
  }
  const { code, message } = error as Error & { code?: string };
  if (code !== undefined) return hasErrorCode(error, ...NETWORK_CODES);
  return CONNECTION_LOST.test(message) || isQueryTimeout(error);
}

/**
 * Returns whether a query timed out in the driver. The server can still respond to it, so its connection must not be
 * reused.
 */
export function isQueryTimeout(error: unknown): boolean {
  return error instanceof Error && QUERY_TIMEOUT.test(error.message);
}

/** Returns whether a statement was rolled back because another transaction held a lock for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === SQL_STATE.lockNotAvailable;
}

/** Returns whether the server certainly rolled the statement back. After a lost connection the outcome is unknown. */
export function isRolledBack(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return sqlState !== undefined && !isOfClass(sqlState, UNKNOWN_OUTCOME_CLASSES);
}

function isOfClass(sqlState: string, classes: readonly string[]): boolean {
  return classes.includes(sqlState.slice(0, 2));
}
