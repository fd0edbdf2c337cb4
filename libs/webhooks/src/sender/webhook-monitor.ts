import { Injectable } from '@nestjs/common';
import type { DeadReason } from '../outbox/webhook-outbox.js';
import { WebhookLog } from '../webhook-log.js';

/** A delivery that is not attempted again. */
export interface DeadDelivery {
  readonly taskId: string;
  /** The id that the requests of the delivery have in `X-Acta-Delivery`. */
  readonly deliveryId: string;
  readonly version: number;
  readonly attempts: number;
  readonly reason: DeadReason;
  /** The status of the last response. */
  readonly status?: number;
}

/** Counts the attempts at deliveries by outcome, and logs dead deliveries and retired webhooks. */
@Injectable()
export class WebhookMonitor {
  /** Exposed by `/metrics`. `retried`: the attempt failed, and another one follows. */
  readonly outcomes = { delivered: 0, retried: 0, dead: 0 };
  /** Exposed by `/metrics`. */
  readonly deadByReason: Record<DeadReason, number> = {
    'attempts-exhausted': 0,
    rejected: 0,
    retired: 0,
    erased: 0,
    unreadable: 0,
  };

  constructor(private readonly log: WebhookLog) {}

  dead(delivery: DeadDelivery): void {
    this.outcomes.dead += 1;
    this.deadByReason[delivery.reason] += 1;
    this.log.warn({ message: 'webhook delivery dead', ...delivery });
  }

  retired(webhook: { readonly taskId: string; readonly status: number; readonly deadDeliveries: number }): void {
    this.log.warn({ message: 'webhook retired', ...webhook });
  }
}
