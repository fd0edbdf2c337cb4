import { backoffMs, type BackoffPolicy, derivedId } from '@app/domain';
import type { TaskWakeups, WebhookTarget } from '@app/storage';
import type { A2aCodec, ProtocolVersion } from '@app/wire';
import type { Subscription } from 'rxjs';
import { AdaptiveConcurrency } from './adaptive-concurrency.js';
import { type WebhookClient, WebhookFailure } from '../requests/webhook-client.js';
import type { DeliveryOutcome, DueDelivery, WebhookClaim, WebhookOutbox } from '../outbox/webhook-outbox.js';
import type { WebhookPayloads } from '../requests/webhook-payloads.js';
import type { WebhookSigner } from '../requests/webhook-signer.js';

/** The backoff is the wait between two attempts at one delivery. */
export interface WebhookSenderOptions extends BackoffPolicy {
  /** Webhooks that this process sends to concurrently. */
  readonly slots: number;
  /** Attempts at one delivery, after which it is dead. */
  readonly maxAttempts: number;
  /** A webhook whose sender has stopped can be claimed again after this time. Longer than an attempt. */
  readonly leaseMs: number;
  readonly pollMs: number;
}

export interface WebhookSenderParts {
  readonly outbox: WebhookOutbox;
  readonly payloads: WebhookPayloads;
  readonly client: WebhookClient;
  readonly signer: WebhookSigner;
  readonly codecFor: (protocolVersion: ProtocolVersion) => A2aCodec;
  readonly wakeups: Pick<TaskWakeups, 'webhookDeliveries'>;
  readonly onError: (error: unknown, claim?: { readonly taskId: string }) => void;
}

/** 15 attempts with these waits take almost two hours. */
export const WEBHOOK_SENDER_DEFAULTS: Omit<WebhookSenderOptions, 'leaseMs'> = {
  slots: 16,
  maxAttempts: 15,
  backoffMs: 1_000,
  maxBackoffMs: 900_000,
  pollMs: 500,
};

/** Time between a wake-up and the claim: several appends often follow each other. */
const COALESCE_MS = 5;
/** Deliveries to one webhook before its lease is released, so that other webhooks get the slot. */
const MAX_CONSECUTIVE = 50;

/**
 * Sends the deliveries of the outbox, each at least once. Deliveries to one webhook keep their order, because the sender that
 * leases the webhook sends one after the other. A dead delivery does not block the next ones.
 */
export class WebhookSender {
  private readonly origins: AdaptiveConcurrency;
  private readonly urls: AdaptiveConcurrency;
  private readonly active = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private subscription: Subscription | null = null;
  private poll: NodeJS.Timeout | null = null;
  private scheduled: NodeJS.Timeout | null = null;
  private claiming: Promise<void> | null = null;

  constructor(
    private readonly parts: WebhookSenderParts,
    private readonly options: WebhookSenderOptions,
    private readonly random: () => number = Math.random,
  ) {
    const max = Math.max(1, options.slots / 2);
    this.origins = new AdaptiveConcurrency(Math.min(2, max), max);
    this.urls = new AdaptiveConcurrency(1, max);
  }

  start(): void {
    this.subscription ??= this.parts.wakeups.webhookDeliveries.subscribe(() => this.schedule());
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
    this.scheduled ??= setTimeout(() => {
      this.scheduled = null;
      if (this.claiming !== null) {
        this.schedule();
        return;
      }
      this.claiming = this.claimDue()
        .catch((error: unknown) => this.parts.onError(error))
        .finally(() => {
          this.claiming = null;
        });
    }, COALESCE_MS);
  }

  /** Claims webhooks until no slot is free or nothing is due. */
  private async claimDue(): Promise<void> {
    const { slots, leaseMs } = this.options;
    while (this.active.size < slots && !this.stopping.signal.aborted) {
      const saturated = { origins: this.origins.saturated(), urls: this.urls.saturated() };
      const leasedAt = performance.now();
      const claims = await this.parts.outbox.claim(saturated, slots - this.active.size, leaseMs);
      if (claims.length === 0) return;
      for (const claim of claims) this.occupySlot(claim, leasedAt);
    }
  }

  private occupySlot(claim: WebhookClaim, leasedAt: number): void {
    this.origins.acquire(claim.originKey);
    this.urls.acquire(claim.urlKey);
    const work = this.deliverInOrder(claim, leasedAt)
      // The lease expires, and then any sender can claim the webhook.
      .catch((error: unknown) => this.parts.onError(error, claim))
      .finally(() => {
        this.origins.release(claim.originKey);
        this.urls.release(claim.urlKey);
        this.active.delete(work);
        this.schedule();
      });
    this.active.add(work);
  }

  /** Sends one delivery after the other. Each outcome renews the lease. */
  private async deliverInOrder(claim: WebhookClaim, leasedAt: number): Promise<void> {
    const { outbox, client } = this.parts;
    const { leaseMs } = this.options;
    let due: DueDelivery | null = claim.next ?? (await outbox.next(claim, leaseMs));
    let renewedAt = leasedAt;
    for (let count = 0; due !== null; count += 1) {
      if (count === MAX_CONSECUTIVE) return outbox.release(claim);
      const outcome = await this.attempt(claim, due, renewedAt + leaseMs - client.timeoutMs);
      if (outcome === null) return outbox.release(claim);
      renewedAt = performance.now();
      due = await outbox.settle(claim, due.version, outcome, leaseMs);
    }
  }

  /**
   * Returns null if the sender stopped, or if the attempt could not start by `latestStart`: it could then end after the lease,
   * when a different sender has the webhook.
   */
  private async attempt(claim: WebhookClaim, due: DueDelivery, latestStart: number): Promise<DeliveryOutcome | null> {
    if (claim.target === null) return { state: 'dead', error: 'the task was erased' };
    const codec = this.parts.codecFor(claim.protocolVersion as ProtocolVersion);
    const update = await this.parts.payloads.updateOf(claim, due.version, codec.webhook.payload);
    if (update === null) return { state: 'dead', error: 'the content was erased or cannot be read' };
    const body = Buffer.from(JSON.stringify(codec.encodeUpdate(update)));
    const headers = this.headersOf(claim, claim.target, due.version, body, codec.webhook.mediaType);
    if (performance.now() >= latestStart) return null;
    try {
      await this.parts.client.post(claim.target.url, headers, body, this.stopping.signal);
      this.report(claim, true);
      return { state: 'delivered' };
    } catch (error) {
      if (this.stopping.signal.aborted && !(error instanceof WebhookFailure)) return null;
      this.report(claim, false);
      if (!(error instanceof WebhookFailure)) throw error;
      return this.failed(due, error.message);
    }
  }

  private failed({ attempts }: DueDelivery, error: string): DeliveryOutcome {
    const { options } = this;
    if (attempts + 1 >= options.maxAttempts) return { state: 'dead', error };
    return { state: 'pending', error, waitMs: backoffMs(attempts + 1, options, this.random()) };
  }

  private headersOf(
    { tenantId, taskId, configId }: WebhookClaim,
    { token, authentication }: WebhookTarget,
    version: number,
    body: Buffer,
    mediaType: string,
  ): Record<string, string> {
    const { scheme, credentials } = authentication ?? {};
    return {
      'Content-Type': mediaType,
      'User-Agent': 'acta',
      // The same for every attempt at one delivery, so that the webhook can detect a duplicate.
      'X-Acta-Delivery': derivedId('push', tenantId, taskId, configId, version),
      'X-Acta-Signature': this.parts.signer.header(body, Math.floor(Date.now() / 1000)),
      ...(token === undefined ? {} : { 'X-A2A-Notification-Token': token }),
      ...(scheme === undefined || credentials === undefined ? {} : { Authorization: `${scheme} ${credentials}` }),
    };
  }

  private report({ originKey, urlKey }: WebhookClaim, succeeded: boolean): void {
    this.origins.report(originKey, succeeded);
    this.urls.report(urlKey, succeeded);
  }
}
