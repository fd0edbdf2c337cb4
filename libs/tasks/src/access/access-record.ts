import { AuditLog } from '@app/access';
import type { Principal } from '@app/domain';
import { Injectable } from '@nestjs/common';

/** What an admin did with a task of someone else. */
export type ForeignAccess =
  'TaskRead' | 'TaskCanceled' | 'TaskResumed' | 'PushConfigSet' | 'PushConfigDeleted' | 'PushConfigsRead';

/** Records in the tenant's audit log when an admin reaches a task that is not its own. */
@Injectable()
export class AccessRecord {
  constructor(private readonly trail: AuditLog) {}

  async note(principal: Principal, what: ForeignAccess, taskId: string, task: { owner: string }): Promise<void> {
    const { tenantId, subject, role } = principal;
    if (subject === task.owner) return;
    await this.trail.record({ tenantId, type: what, facts: { taskId }, actor: { subject, role } });
  }
}
