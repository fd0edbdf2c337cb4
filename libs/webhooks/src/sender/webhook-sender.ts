import { setMaxListeners } from 'node:events';
import { TaskWakeups } from '@app/storage';
import { Injectable } from '@nestjs/common';
import type { Subscription } from 'rxjs';
import { type DueDelivery, type WebhookClaim, WebhookOutbox } from '../outbox/webhook-outbox.js';
import { WebhookLog } from '../webhook-log.js';
import { WebhookOptions } from '../webhook-options.js';
import { type AttemptResult, DeliveryAttempts, deliveryIdOf } from './delivery-attempts.js';
import { SenderSlots, type Slot } from './sender-slots.js';
import { WebhookMonitor } from './webhook-monitor.js';
import { WebhookRetirement } from './webhook-retirement.js';

/** Time between a wake-up and the claim: several appends often follow each other. */
const COALESCE_MS = 5;
/** Time between two claims, in durations of a claim: claims use at most a fifth of one connection, however many are due. */
const CLAIM_PAUSES = 4;
/** Deliveries to one webhook before its lease is released, so that other webhooks get the slot. */
const MAX_CONSECUTIVE = 50;

/**
 * Sends the deliveries of the outbox, each at least once. Deliveries to one webhook keep their order, because the sender that
 * leases the webhook sends one after the other. A dead delivery does not block the next ones.
 */
@Injectable()
export class WebhookSender {
  private readonly slots: SenderSlots;
  private readonly active = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private subscription: Subscription | null = null;
  private poll: NodeJS.Timeout | null = null;
  private scheduled: NodeJS.Timeout | null = null;
  private claiming: Promise<void> | null = null;
  /** Duration of the last claim, in milliseconds. */
  private claimMs = 0;

  constructor(
    private readonly attempts: DeliveryAttempts,
    private readonly outbox: WebhookOutbox,
    private readonly retirement: WebhookRetirement,
    private readonly monitor: WebhookMonitor,
    private readonly wakeups: TaskWakeups,
    private readonly log: WebhookLog,
    private readonly options: WebhookOptions,
  ) {
    this.slots = new SenderSlots(options.slots);
    // Each request in flight has a listener.
    setMaxListeners(options.slots, this.stopping.signal);
  }

  start(): void {
    this.subscription ??= this.wakeups.webhookDeliveries.subscribe(() => this.schedule());
    this.poll ??= setInterval(() => this.schedule(), this.options.pollMs);
    this.schedule();
  }

  /** Aborts the deliveries in flight, which does not count as an attempt, and releases all leases. */
  async stop(): Promise<void> {
    this.subscription?.unsubscribe();
    for (const timer of [this.poll, this.scheduled]) if (timer !== null) clearTimeout(timer);
    this.stopping.abort(new Error('the sender stops'));
    await this.claiming;
    await Promise.all(this.active);
  }

  private schedule(): void {
    if (this.stopping.signal.aborted) return;
    const waitMs = Math.min(Math.max(COALESCE_MS, CLAIM_PAUSES * this.claimMs), this.options.pollMs);
    this.scheduled ??= setTimeout(() => {
      this.scheduled = null;
      if (this.claiming !== null) {
        this.schedule();
        return;
      }
      this.claiming = this.claimDue()
        .catch((error: unknown) => this.log.error(error))
        .finally(() => {
          this.claiming = null;
        });
    }, waitMs);
  }

  /** Claims webhooks until no slot is free or nothing is due that may get one. */
  private async claimDue(): Promise<void> {
    while (this.slots.free > 0 && !this.stopping.signal.aborted) {
      const startedAt = performance.now();
      const claims = await this.outbox.claim(this.slots.limits(), this.options.leaseMs);
      this.claimMs = performance.now() - startedAt;
      if (claims.length === 0) return;
      this.slots.endTurn(claims);
      for (const claim of claims) this.occupySlot(claim, startedAt + this.options.leaseMs);
    }
  }

  private occupySlot(claim: WebhookClaim, leaseEnd: number): void {
    const slot = this.slots.occupy(claim);
    const work = this.deliverInOrder(claim, slot, leaseEnd)
      // The lease expires, and then any sender can claim the webhook.
      .catch((error: unknown) => this.log.error(error, claim))
      .finally(() => {
        slot.release();
        this.active.delete(work);
        this.schedule();
      });
    this.active.add(work);
  }

  /** Sends one delivery after the other. Each outcome renews the lease. */
  private async deliverInOrder(claim: WebhookClaim, slot: Slot, leaseEnd: number): Promise<void> {
    const { outbox } = this;
    const { leaseMs } = this.options;
    const { signal } = this.stopping;
    let end = leaseEnd;
    let due: DueDelivery | null = claim.next ?? (await outbox.next(claim, leaseMs));
    for (let count = 0; due !== null; count += 1) {
      if (count === MAX_CONSECUTIVE) return outbox.release(claim);
      const result = await this.attempts.attempt(claim, due, slot, { leaseEnd: end, signal });
      if (result === null) return outbox.release(claim);
      if (result.state === 'retired') return this.retire(claim, due, result);
      end = performance.now() + leaseMs;
      const next: DueDelivery | null = await outbox.settle(claim, due.version, result, leaseMs);
      this.observe(claim, due, result);
      due = next;
    }
  }

  private async retire(
    claim: WebhookClaim,
    { version }: DueDelivery,
    { error, status }: Extract<AttemptResult, { state: 'retired' }>,
  ): Promise<void> {
    const { retirement, monitor } = this;
    const { taskId } = claim;
    const ended = await retirement.retire(claim, version, error);
    if (ended.length === 0) return;
    monitor.retired({ taskId, status, deadDeliveries: ended.length });
    for (const delivery of ended) {
      monitor.dead({
        taskId,
        deliveryId: deliveryIdOf(claim, delivery.version),
        ...delivery,
        reason: 'retired',
        status,
      });
    }
  }

  private observe(
    claim: WebhookClaim,
    { version, attempts }: DueDelivery,
    result: Exclude<AttemptResult, { state: 'retired' }>,
  ): void {
    const { monitor } = this;
    if (result.state === 'delivered') monitor.outcomes.delivered += 1;
    if (result.state === 'pending') monitor.outcomes.retried += 1;
    if (result.state !== 'dead') return;
    const { reason, status } = result;
    const dead = {
      taskId: claim.taskId,
      deliveryId: deliveryIdOf(claim, version),
      version,
      attempts: attempts + 1,
      reason,
    };
    monitor.dead(status === undefined ? dead : { ...dead, status });
  }
}
