import { randomUUID } from 'node:crypto';
import { isUuid } from '@app/domain';
import {
  Database,
  EventDecoder,
  type Schema,
  type ServerSecret,
  WebhookCipher,
  type WebhookTarget,
  type WrappedKeyColumns,
} from '@app/storage';
import { Injectable } from '@nestjs/common';
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
  /** The user that set the webhook. */
  readonly subject: string;
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

/** Which webhooks a claim may contain. Keys are in hex. */
export interface ClaimLimits {
  readonly slots: number;
  /** How many of the slots may be used for origins that are not proven. */
  readonly unprovenSlots: number;
  /** Origins whose last delivery has succeeded. */
  readonly provenOrigins: readonly string[];
  /** Origins and URLs that get no further slot. */
  readonly saturatedKeys: readonly string[];
  /** Tenants that get no further slot. */
  readonly saturatedTenants: readonly string[];
  /** Tenants that get no further slot for an unproven origin. */
  readonly unprovenTenants: readonly string[];
  /** The tenant that had the last turn. */
  readonly lastTenant: string;
}

/** A webhook that is leased to one sender. */
export interface WebhookClaim {
  readonly tenantId: string;
  readonly taskId: string;
  /** The user that set the webhook. */
  readonly subject: string;
  readonly configId: string;
  readonly protocolVersion: string;
  /** `erased`: the task was erased. `unreadable`: the stored bytes cannot be decrypted with this server's secret. */
  readonly target: WebhookTarget | 'erased' | 'unreadable';
  /** Keyed hashes of the tenant with the origin and with the URL, in hex. A sender limits the deliveries to each. */
  readonly originKey: string;
  readonly urlKey: string;
  readonly lease: string;
  readonly next: DueDelivery | null;
}

/** Why a delivery is dead. `retired`: its webhook was removed, because the target no longer exists. */
export type DeadReason = 'attempts-exhausted' | 'rejected' | 'retired' | 'erased' | 'unreadable';

/** The result of an attempt. A `pending` delivery is attempted again after `waitMs`. */
export type DeliveryOutcome =
  | { readonly state: 'delivered' }
  | { readonly state: 'dead'; readonly error: string; readonly reason: DeadReason; readonly status?: number }
  | { readonly state: 'pending'; readonly error: string; readonly waitMs: number };

type DeliveryRow = Selectable<Schema['push_delivery']>;

interface ClaimRow extends Omit<Selectable<Schema['push_config']>, 'next_attempt_at' | 'lease'>, WrappedKeyColumns {
  /** Of the next delivery; null if the webhook has none. */
  readonly version: number | null;
  readonly attempts: number | null;
}

/** The deliveries of all webhooks. Leases and waits use database time. */
@Injectable()
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

  /** Leases due webhooks within the limits, at most one of each tenant. */
  async claim(limits: ClaimLimits, leaseMs: number): Promise<WebhookClaim[]> {
    const lease = randomUUID();
    const bytes = (keys: readonly string[]) => keys.map((key) => Buffer.from(key, 'hex'));
    const rows = await this.database.run<ClaimRow>(CLAIM_WEBHOOKS, [
      bytes(limits.saturatedKeys),
      bytes(limits.provenOrigins),
      limits.saturatedTenants,
      limits.unprovenTenants,
      limits.slots,
      limits.unprovenSlots,
      limits.lastTenant,
      lease,
      leaseMs,
    ]);
    return rows.map((row) => {
      const { tenant_id: tenantId, task_id: taskId, subject, config_id: configId, version, attempts } = row;
      return {
        tenantId,
        taskId,
        subject,
        configId,
        protocolVersion: row.protocol_version,
        target: this.targetOf(row),
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
    filter: {
      readonly tenantId?: string;
      readonly taskId?: string;
      readonly configId?: string;
      readonly states: readonly WebhookDeliveryState[];
    },
    limit: number,
  ): Promise<WebhookDelivery[]> {
    const { tenantId = null, taskId = null, configId = null, states } = filter;
    if (taskId !== null && !isUuid(taskId)) return [];
    const values = [tenantId, taskId, states, configId, limit];
    return (await this.database.run<DeliveryRow>(FIND_DELIVERIES, values)).map(deliveryOf);
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

  /** Does not throw: one row that cannot be decrypted must not prevent the other claims of its statement. */
  private targetOf(row: ClaimRow): WebhookClaim['target'] {
    const { tenant_id: tenantId, task_id: taskId, subject, config_id: configId } = row;
    if (row.wrapped_key === null) return 'erased';
    const key = this.decoder.unwrapKey(tenantId, taskId, row);
    const target = key && this.cipher.decrypt(row.sealed_target, key, { tenantId, taskId, subject, configId });
    return target ?? 'unreadable';
  }

  private async settleAndClaim(
    { tenantId, taskId, subject, configId, lease }: WebhookClaim,
    values: unknown[],
  ): Promise<DueDelivery | null> {
    const parameters = [tenantId, taskId, subject, configId, lease, ...values];
    return (await this.database.run<DueDelivery>(SETTLE_DELIVERY, parameters))[0] ?? null;
  }
}

const deliveryOf = (row: DeliveryRow): WebhookDelivery => ({
  tenantId: row.tenant_id,
  taskId: row.task_id,
  subject: row.subject,
  configId: row.config_id,
  version: row.version,
  state: row.state,
  attempts: row.attempts,
  createdAt: row.created_at.toISOString(),
  lastAttemptAt: row.last_attempt_at?.toISOString() ?? null,
  deliveredAt: row.delivered_at?.toISOString() ?? null,
  lastError: row.last_error,
});
