/** `operator` is whoever has the database itself: the command line and the server's own upkeep. */
export type PrincipalRole = 'member' | 'admin' | 'worker' | 'operator';

/** Who calls. Comes from the credential, never from a request. */
export interface Principal {
  readonly tenantId: string;
  readonly subject: string;
  readonly role: PrincipalRole;
  /** Rings that the caller sees, in the order of its credential; the first is the ring of its new tasks. */
  readonly rings: readonly string[];
  /** Agents that a worker may run; empty for other roles. */
  readonly agents: readonly string[];
}

/** Who did something, as an event records it. */
export interface Actor {
  readonly subject: string;
  readonly role: PrincipalRole | 'agent' | 'system';
}

/** What Acta does by itself (the reaper, the cancel deadline) is recorded under this name. */
export const SYSTEM_ACTOR: Actor = { subject: 'acta', role: 'system' };

/**
 * Whether a caller may know that a task exists (design section 7): its own tasks in rings that it sees now,
 * or, for an admin, every task of its tenant. The same rule stands in SQL in the list query.
 */
export function canSee(principal: Principal, task: { tenantId: string; owner: string; ring: string }): boolean {
  if (principal.tenantId !== task.tenantId) return false;
  if (principal.role === 'admin' || principal.role === 'operator') return true;
  return principal.role === 'member' && principal.subject === task.owner && principal.rings.includes(task.ring);
}
