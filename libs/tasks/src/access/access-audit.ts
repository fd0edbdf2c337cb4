import { AuditLog } from '@app/access';
import type { Principal } from '@app/domain';
import { Injectable } from '@nestjs/common';

/** What an admin did with a task of another user. */
export type AdminAccess =
  'TaskRead' | 'TaskCanceled' | 'TaskResumed' | 'PushConfigSet' | 'PushConfigDeleted' | 'PushConfigsRead';

/** Records in the tenant's audit log that an admin accessed a task of another user. */
@Injectable()
export class AccessAudit {
  constructor(private readonly auditLog: AuditLog) {}

  /** Records one access. An access of the owner is not recorded. */
  async record(principal: Principal, type: AdminAccess, taskId: string, { owner }: { owner: string }): Promise<void> {
    const { tenantId, subject, role } = principal;
    if (subject === owner) return;
    await this.auditLog.record({ tenantId, type, facts: { taskId }, actor: { subject, role } });
  }
}
