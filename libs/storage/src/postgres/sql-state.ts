/**
 * Classes of SQLSTATE with which a server says that it cannot now: connection, rolled back for others' sake, resources,
 * prerequisites, stopping or starting, its own system; and that it has become a read-only standby.
 */
const CANNOT_NOW = /^(?:08|40|53|55|57|58)|^25006$/;
const NETWORK =
  /^(?:ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|ENOTFOUND|EAI_AGAIN)$/;
/** The driver's own words for an answer that did not come in time. It has no code, as those below have none. */
const OVERDUE = /^Query read timeout/;
/** And for connections that are gone, or could not be had in time; the last are Kysely's, of one whose rollback failed. */
const GONE =
  /^(?:Connection terminated|Client (?:has encountered|was closed)|timeout (?:expired|exceeded when trying to connect)|Postgres connection has been discarded)/;

/** Whether this error says that the database could not be asked, and not that it was asked something wrong. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message } = error as Error & { code?: string };
  if (code === undefined) return GONE.test(message) || isOverdue(error);
  return 'severity' in error ? CANNOT_NOW.test(code) : NETWORK.test(code);
}

/** Whether a statement had no answer in time. The answer may come yet, so that nothing else may be asked over its connection. */
export function isOverdue(error: unknown): boolean {
  return error instanceof Error && OVERDUE.test(error.message);
}
