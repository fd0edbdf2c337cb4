import { randomUUID } from 'node:crypto';
import { isUuid } from '@app/domain';
import {
  type Database,
  EventDecoder,
  type Schema,
  type ServerSecret,
  WebhookCipher,
  type WebhookTarget,
} from '@app/storage';
import type { Selectable } from 'kysely';
import {
  CLAIM_WEBHOOKS,
  FIND_DELIVERIES,
  RETRY_DEAD_DELIVERIES,
  SETTLE_DELIVERY,
  LIST_TASK_DELIVERIES,
} from './webhook-outbox.statements.js';

export type WebhookDeliveryState = DeliveryRow['state'];

/** The delivery of one event to one webhook. It does not contain the URL. */
export interface WebhookDelivery {
  readonly tenantId: string;
  readonly taskId: string;
  readonly configId: string;
  /** Version of the task after the event. */
  readonly version: number;
  readonly state: WebhookDeliveryState;
  readonly attempts: number;
  readonly createdAt: string;
  readonly lastAttemptAt: string | null;
  readonly deliveredAt: string | null;
  readonly lastError: string | null;
}

/** The next delivery of a claimed webhook, and the number of its failed attempts. */
export interface DueDelivery {
  readonly version: number;
  readonly attempts: number;
}

/** A webhook that is leased to one sender. */
export interface WebhookClaim {
  readonly tenantId: string;
  readonly taskId: string;
  readonly configId: string;
  readonly protocolVersion: string;
  /** Null if the task was erased. */
  readonly target: WebhookTarget | null;
  /** Keyed hashes, in hex: a sender limits deliveries to one origin and to one URL without knowing them. */
  readonly originKey: string;
  readonly urlKey: string;
  readonly lease: string;
  readonly next: DueDelivery | null;
}

/** The result of an attempt. A `pending` delivery is attempted again after `waitMs`. */
export type DeliveryOutcome =
  | { readonly state: 'delivered' }
  | { readonly state: 'dead'; readonly error: string }
  | { readonly state: 'pending'; readonly error: string; readonly waitMs: number };

type DeliveryRow = Selectable<Schema['push_delivery']>;

interface ClaimRow extends Omit<Selectable<Schema['push_config']>, 'next_attempt_at' | 'lease'> {
  readonly wrapped_key: Buffer | null;
  /** Of the next delivery; null if the webhook has none. */
  readonly version: number | null;
  readonly attempts: number | null;
}

/** The deliveries of all webhooks. Leases and waits use database time. */
export class WebhookOutbox {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly cipher: WebhookCipher,
  ) {}

  /** Creates an outbox without Nest. */
  static over({ database, secret }: { readonly database: Database; readonly secret: ServerSecret }) {
    return new WebhookOutbox(database, new EventDecoder(secret), new WebhookCipher(secret));
  }

  /** Leases due webhooks, except those of saturated origins and URLs: at most `limit`, and one for each origin. */
  async claim(
    saturated: { readonly origins: readonly string[]; readonly urls: readonly string[] },
    limit: number,
    leaseMs: number,
  ): Promise<WebhookClaim[]> {
    const lease = randomUUID();
    const bytes = (keys: readonly string[]) => keys.map((key) => Buffer.from(key, 'hex'));
    const rows = await this.database.run<ClaimRow>(CLAIM_WEBHOOKS, [
      bytes(saturated.origins),
      bytes(saturated.urls),
      limit,
      lease,
      leaseMs,
    ]);
    return rows.map((row) => {
      const { tenant_id: tenantId, task_id: taskId, config_id: configId, version, attempts } = row;
      const key = this.decoder.unwrapKey(tenantId, taskId, row.wrapped_key);
      return {
        tenantId,
        taskId,
        configId,
        protocolVersion: row.protocol_version,
        target: key === null ? null : this.cipher.decrypt(row.sealed_target, key, { tenantId, taskId, configId }),
        originKey: row.origin_key.toString('hex'),
        urlKey: row.url_key.toString('hex'),
        lease,
        next: version === null || attempts === null ? null : { version, attempts },
      };
    });
  }

  /** Records an outcome. Returns the next delivery and renews the lease, or returns null if the claim has ended. */
  async settle(
    claim: WebhookClaim,
    version: number,
    outcome: DeliveryOutcome,
    leaseMs: number,
  ): Promise<DueDelivery | null> {
    const error = outcome.state === 'delivered' ? null : outcome.error;
    return outcome.state === 'pending'
      ? this.settleAndClaim(claim, [version, outcome.state, error, Math.round(outcome.waitMs), false, leaseMs])
      : this.settleAndClaim(claim, [version, outcome.state, error, 0, true, leaseMs]);
  }

  /** Returns the next delivery and renews the lease, or returns null if the claim has ended. */
  next(claim: WebhookClaim, leaseMs: number): Promise<DueDelivery | null> {
    return this.settleAndClaim(claim, [0, null, null, 0, true, leaseMs]);
  }

  /** Ends the lease, so that any sender can claim the webhook. */
  async release(claim: WebhookClaim): Promise<void> {
    await this.settleAndClaim(claim, [0, null, null, 0, false, 0]);
  }

  /** Lists the deliveries of a task after a version, for at most `versions` versions. */
  async listForTask(tenantId: string, taskId: string, after: number, versions: number): Promise<WebhookDelivery[]> {
    return (await this.database.run<DeliveryRow>(LIST_TASK_DELIVERIES, [tenantId, taskId, after, versions])).map(
      deliveryOf,
    );
  }

  /** Lists the deliveries of all tenants for operators, newest first. */
  async find(
    filter: { readonly tenantId?: string; readonly taskId?: string; readonly states: readonly WebhookDeliveryState[] },
    limit: number,
  ): Promise<WebhookDelivery[]> {
    const { tenantId = null, taskId = null, states } = filter;
    if (taskId !== null && !isUuid(taskId)) return [];
    return (await this.database.run<DeliveryRow>(FIND_DELIVERIES, [tenantId, taskId, states, limit])).map(deliveryOf);
  }

  /** Resets dead deliveries to pending and returns them. A webhook can receive them after later events. */
  async retryDead(filter: {
    readonly tenantId?: string;
    readonly taskId?: string;
    readonly configId?: string;
  }): Promise<WebhookDelivery[]> {
    const { tenantId = null, taskId = null, configId = null } = filter;
    if (taskId !== null && !isUuid(taskId)) return [];
    return (await this.database.run<DeliveryRow>(RETRY_DEAD_DELIVERIES, [tenantId, taskId, configId])).map(deliveryOf);
  }

  private async settleAndClaim(
    { tenantId, taskId, configId, lease }: WebhookClaim,
    values: unknown[],
  ): Promise<DueDelivery | null> {
    const parameters = [tenantId, taskId, configId, lease, ...values];
    return (await this.database.run<DueDelivery>(SETTLE_DELIVERY, parameters))[0] ?? null;
  }
}

const deliveryOf = (row: DeliveryRow): WebhookDelivery => ({
  tenantId: row.tenant_id,
  taskId: row.task_id,
  configId: row.config_id,
  version: row.version,
  state: row.state,
  attempts: row.attempts,
  createdAt: row.created_at.toISOString(),
  lastAttemptAt: row.last_attempt_at?.toISOString() ?? null,
  deliveredAt: row.delivered_at?.toISOString() ?? null,
  lastError: row.last_error,
});
