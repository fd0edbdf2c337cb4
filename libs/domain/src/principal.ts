/**
 * `metrics` can read the metrics and nothing else. `operator` has direct access to the database: the command line and the
 * maintenance tasks of the server.
 */
export type PrincipalRole = 'member' | 'admin' | 'worker' | 'metrics' | 'operator';

/** The caller. It comes from the credential, never from a request. */
export interface Principal {
  readonly tenantId: string;
  readonly subject: string;
  readonly role: PrincipalRole;
  /** Rings of the caller in the order of its credential; the first is the ring of its new tasks. */
  readonly rings: readonly string[];
  /** Agents that a worker may run; empty for other roles. */
  readonly agents: readonly string[];
}

/** The author of an event. */
export interface Actor {
  readonly subject: string;
  readonly role: PrincipalRole | 'agent' | 'system';
}

/** The author of events that Acta records by itself, such as those of the reaper and of cancel deadlines. */
export const SYSTEM_ACTOR: Actor = { subject: 'acta', role: 'system' };

/**
 * Returns whether a caller can access a task: a member its own tasks in its current rings, and an admin every task of its
 * tenant. For other callers the task does not exist. The list query has the same rule in SQL.
 */
export function canAccess(principal: Principal, task: { tenantId: string; owner: string; ring: string }): boolean {
  if (principal.tenantId !== task.tenantId) return false;
  if (principal.role === 'admin' || principal.role === 'operator') return true;
  return principal.role === 'member' && principal.subject === task.owner && principal.rings.includes(task.ring);
}
