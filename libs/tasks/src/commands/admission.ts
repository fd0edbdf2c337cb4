import { DomainError, formatCount } from '@app/domain';
import { Database, type NamedStatement } from '@app/storage';
import { Injectable } from '@nestjs/common';

export abstract class AdmissionLimits {
  /** Tasks of one tenant that may be queued. */
  abstract readonly queuedPerTenant: number;
}

/** Stops to count at the limit. */
const COUNT_QUEUED: NamedStatement = {
  name: 'count_queued',
  text: `select count(*)::integer as queued
    from (select 1 from run_queue where tenant_id = $1 and run_id is null limit $2) q`,
};

const RETRY_AFTER_SECONDS = 5;

/** Rejects work that would be queued behind a full queue. Work that starts immediately is not checked. */
@Injectable()
export class Admission {
  constructor(
    private readonly database: Database,
    private readonly limits: AdmissionLimits,
  ) {}

  /** Errors: Overloaded. */
  async requireCapacity(tenantId: string): Promise<void> {
    const { queuedPerTenant } = this.limits;
    const [row] = await this.database.run<{ queued: number }>(COUNT_QUEUED, [tenantId, queuedPerTenant]);
    if (row!.queued < queuedPerTenant) return;
    throw new DomainError(
      'Overloaded',
      `the tenant has ${formatCount(queuedPerTenant, 'queued task')}, which is the limit; nothing was stored; send the message again later`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}
