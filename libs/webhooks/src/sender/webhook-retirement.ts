import { SYSTEM_ACTOR } from '@app/domain';
import { Database } from '@app/storage';
import { newInternalCommand, TaskWriter } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import type { DueDelivery, WebhookClaim } from '../outbox/webhook-outbox.js';
import { END_DELIVERIES, LOCK_QUEUE_ROW, LOCK_TASK_ROW } from '../outbox/webhook-outbox.statements.js';

const ERROR_OF_OTHERS = 'the webhook was retired, because its target responded with status 410';

/** Removes webhooks whose target no longer exists, and records it in the event log. */
@Injectable()
export class WebhookRetirement {
  constructor(
    private readonly database: Database,
    private readonly writer: TaskWriter,
  ) {}

  /**
   * Records that a webhook is deleted, because its target responded with status 410, and marks its outstanding deliveries as
   * dead. Returns these; none if the claim has ended, for example because the webhook was set again with a different URL.
   */
  async retire(claim: WebhookClaim, version: number, error: string): Promise<DueDelivery[]> {
    const { tenantId, taskId, subject, configId, lease } = claim;
    const { database, writer } = this;
    const { ended, appended } = await database.transaction(async (executor) => {
      // The locks of an append come before that of the webhook, in the same order as in an append.
      await database.run(LOCK_QUEUE_ROW, [tenantId, taskId], executor);
      await database.run(LOCK_TASK_ROW, [tenantId, taskId], executor);
      const values = [tenantId, taskId, subject, configId, lease, version, error, ERROR_OF_OTHERS];
      const ended = await database.run<DueDelivery>(END_DELIVERIES, values, executor);
      const head = ended.length === 0 ? null : await writer.head(tenantId, taskId, executor);
      if (head === null) return { ended, appended: null };
      const envelope = { tenantId, taskId, actor: SYSTEM_ACTOR, ...newInternalCommand('retire-push-config') };
      const command = { type: 'DeletePushConfig', subject, configId, reason: 'status-410' } as const;
      return { ended, appended: await writer.applyLocked(envelope, command, head, executor) };
    });
    if (appended !== null) writer.publish(claim, appended);
    return ended;
  }
}
