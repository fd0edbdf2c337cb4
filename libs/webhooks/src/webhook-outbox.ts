import { randomUUID } from 'node:crypto';
import { type Database, EventDecoder, type ServerSecret, WebhookCipher, type WebhookTarget } from '@app/storage';
import { CLAIM_PUSHES, FIND_PUSHES, RETRY_DEAD_PUSHES, SETTLE_PUSH, TASK_PUSHES } from './webhook-outbox.statements.js';

export type PushState = 'pending' | 'delivered' | 'dead';

/** What became of telling one webhook of one event. Says nothing of where the webhook is. */
export interface PushDelivery {
  readonly tenantId: string;
  readonly taskId: string;
  readonly configId: string;
  /** Of the event that it tells of. */
  readonly version: number;
  readonly state: PushState;
  readonly attempts: number;
  readonly createdAt: string;
  readonly lastAttemptAt: string | null;
  readonly deliveredAt: string | null;
  readonly lastError: string | null;
}

/** What is to be told next, and how often that was tried. */
export interface DuePush {
  readonly version: number;
  readonly attempts: number;
}

/** A webhook that this process alone tells for a while. */
export interface PushClaim {
  readonly tenantId: string;
  readonly taskId: string;
  readonly configId: string;
  readonly protocolVersion: string;
  /** Null once the task is erased. */
  readonly target: WebhookTarget | null;
  /** Names of its places in the limits of a sender. */
  readonly origin: string;
  readonly url: string;
  readonly lease: string;
  readonly next: DuePush | null;
}

/** What an attempt came to. `pending` waits and is tried again. */
export type PushOutcome =
  | { readonly state: 'delivered' }
  | { readonly state: 'dead'; readonly error: string }
  | { readonly state: 'pending'; readonly error: string; readonly waitMs: number };

interface DeliveryRow {
  tenant_id: string;
  task_id: string;
  config_id: string;
  version: number;
  state: PushState;
  attempts: number;
  created_at: Date;
  last_attempt_at: Date | null;
  delivered_at: Date | null;
  last_error: string | null;
}

interface ClaimRow {
  tenant_id: string;
  task_id: string;
  config_id: string;
  protocol_version: string;
  sealed_target: Buffer;
  origin_key: Buffer;
  url_key: Buffer;
  wrapped_key: Buffer | null;
  version: number | null;
  attempts: number | null;
}

/** The deliveries that wait, and what became of the others. Leases and waits are kept by the database's clock alone. */
export class PushOutbox {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly cipher: WebhookCipher,
  ) {}

  /** Creates it outside of Nest. */
  static over({ database, secret }: { readonly database: Database; readonly secret: ServerSecret }) {
    return new PushOutbox(database, new EventDecoder(secret), new WebhookCipher(secret));
  }

  async claim(
    full: { readonly origins: readonly string[]; readonly urls: readonly string[] },
    limit: number,
    leaseMs: number,
  ): Promise<PushClaim[]> {
    const lease = randomUUID();
    const keys = (names: readonly string[]) => names.map((name) => Buffer.from(name, 'hex'));
    const rows = await this.database.run<ClaimRow>(CLAIM_PUSHES, [
      keys(full.origins),
      keys(full.urls),
      limit,
      lease,
      leaseMs,
    ]);
    return rows.map((row) => {
      const { tenant_id: tenantId, task_id: taskId, config_id: configId, version, attempts } = row;
      const key = this.decoder.unwrap(tenantId, taskId, row.wrapped_key);
      return {
        tenantId,
        taskId,
        configId,
        protocolVersion: row.protocol_version,
        target: key === null ? null : this.cipher.open(row.sealed_target, key, { tenantId, taskId, configId }),
        origin: row.origin_key.toString('hex'),
        url: row.url_key.toString('hex'),
        lease,
        next: version === null || attempts === null ? null : { version, attempts },
      };
    });
  }

  /** Records an outcome and goes on: gives what is next, under a lease that starts anew, or null when this claim is over. */
  async settle(claim: PushClaim, version: number, outcome: PushOutcome, leaseMs: number): Promise<DuePush | null> {
    const error = outcome.state === 'delivered' ? null : outcome.error;
    return outcome.state === 'pending'
      ? this.settled(claim, [version, outcome.state, error, Math.round(outcome.waitMs), false, leaseMs])
      : this.settled(claim, [version, outcome.state, error, 0, true, leaseMs]);
  }

  /** What is next now, under a lease that starts anew. */
  next(claim: PushClaim, leaseMs: number): Promise<DuePush | null> {
    return this.settled(claim, [0, null, null, 0, true, leaseMs]);
  }

  /** Gives the webhook back, for whoever comes next. */
  async release(claim: PushClaim): Promise<void> {
    await this.settled(claim, [0, null, null, 0, false, 0]);
  }

  async ofTask(tenantId: string, taskId: string, after: number, versions: number): Promise<PushDelivery[]> {
    return (await this.database.run<DeliveryRow>(TASK_PUSHES, [tenantId, taskId, after, versions])).map(deliveryOf);
  }

  /** Deliveries of the whole database, newest first: for operators. */
  async find(
    filter: { readonly tenantId?: string; readonly taskId?: string; readonly states: readonly PushState[] },
    limit: number,
  ): Promise<PushDelivery[]> {
    const { tenantId = null, taskId = null, states } = filter;
    return (await this.database.run<DeliveryRow>(FIND_PUSHES, [tenantId, taskId, states, limit])).map(deliveryOf);
  }

  /** Has dead deliveries sent once more, even where later ones have arrived since. Gives them. */
  async retryDead(which: {
    readonly tenantId?: string;
    readonly taskId?: string;
    readonly configId?: string;
  }): Promise<PushDelivery[]> {
    const { tenantId = null, taskId = null, configId = null } = which;
    return (await this.database.run<DeliveryRow>(RETRY_DEAD_PUSHES, [tenantId, taskId, configId])).map(deliveryOf);
  }

  private async settled({ tenantId, taskId, configId, lease }: PushClaim, values: unknown[]): Promise<DuePush | null> {
    const all = [tenantId, taskId, configId, lease, ...values];
    return (await this.database.run<DuePush>(SETTLE_PUSH, all))[0] ?? null;
  }
}

const deliveryOf = (row: DeliveryRow): PushDelivery => ({
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
