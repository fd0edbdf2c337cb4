import { DomainError } from '@app/domain';
import type { Database, NamedStatement } from '@app/storage';

export interface AdmissionLimits {
  /** Tasks of one tenant that may wait for a worker. */
  readonly queuedPerTenant: number;
}

/** Counts no further than it must. */
const QUEUED: NamedStatement = {
  name: 'queued_of_tenant',
  text: `select count(*)::integer as queued
    from (select 1 from run_queue where tenant_id = $1 and run_id is null limit $2) q`,
};

const RETRY_AFTER_SECONDS = 5;

/** Refuses work that would only wait, before anything of it is stored. Work that starts at once is not asked about. */
export class Admission {
  constructor(
    private readonly database: Database,
    private readonly limits: AdmissionLimits,
  ) {}

  /** Errors: Overloaded. */
  async requireRoom(tenantId: string): Promise<void> {
    const { queuedPerTenant } = this.limits;
    const [row] = await this.database.run<{ queued: number }>(QUEUED, [tenantId, queuedPerTenant]);
    if (row!.queued < queuedPerTenant) return;
    throw new DomainError(
      'Overloaded',
      `overloaded: ${queuedPerTenant} tasks of this tenant wait already; nothing was stored, send again later`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}
