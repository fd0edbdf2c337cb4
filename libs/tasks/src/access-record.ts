import type { Principal } from '@app/domain';

/** What an admin did with a task of someone else. */
export type ForeignAccess = 'TaskRead' | 'TaskCanceled';

/** Where reads of other people's tasks are recorded; the audit trail of `libs/access` implements it. */
export abstract class AccessRecord {
  protected abstract record(principal: Principal, what: ForeignAccess, taskId: string): Promise<void>;

  /** Records the access unless the task is the caller's own. */
  async note(principal: Principal, what: ForeignAccess, taskId: string, task: { owner: string }): Promise<void> {
    if (principal.subject !== task.owner) await this.record(principal, what, taskId);
  }
}
