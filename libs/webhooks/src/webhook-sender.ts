import { derivedId } from '@app/domain';
import type { TaskWakeups, WebhookTarget } from '@app/storage';
import type { A2aCodec, ProtocolVersion } from '@app/wire';
import type { Subscription } from 'rxjs';
import { PushLanes } from './adaptive-concurrency.js';
import type { DuePush, PushClaim, PushOutbox, PushOutcome } from './webhook-outbox.js';
import type { PushSigner } from './webhook-signer.js';
import type { PushUpdates } from './webhook-payloads.js';
import { type WebhookClient, WebhookFailure } from './webhook-client.js';

export interface PushSenderOptions {
  /** Webhooks told at a time by this process. */
  readonly slots: number;
  /** Of one delivery, after which it is dead. */
  readonly maxAttempts: number;
  /** Before the second attempt; each later wait is twice the one before, up to `maxBackoffMs`. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** A webhook that is not heard of for so long is taken over by another sender. Longer than any attempt. */
  readonly leaseMs: number;
  readonly pollMs: number;
}

export interface PushSenderParts {
  readonly outbox: PushOutbox;
  readonly updates: PushUpdates;
  readonly client: WebhookClient;
  readonly signer: PushSigner;
  readonly codecFor: (protocolVersion: ProtocolVersion) => A2aCodec;
  readonly wakeups: Pick<TaskWakeups, 'pushes'>;
  readonly onError: (error: unknown, claim?: { readonly taskId: string }) => void;
}

/** 15 attempts with these waits span almost two hours. */
export const PUSH_DEFAULTS: Omit<PushSenderOptions, 'leaseMs'> = {
  slots: 16,
  maxAttempts: 15,
  backoffMs: 1_000,
  maxBackoffMs: 900_000,
  pollMs: 500,
};

/** Between two looks at the outbox: appends come in crowds. */
const COALESCE_MS = 5;
/** Deliveries of one webhook before others have their turn. */
const IN_A_ROW = 50;

/**
 * Tells webhooks what the outbox holds for them: at least once, and those of one webhook in order, because whoever leases
 * the webhook sends one delivery after the other. A dead delivery lets the next ones go on.
 */
export class PushSender {
  private readonly origins: PushLanes;
  private readonly urls: PushLanes;
  private readonly active = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private subscription: Subscription | null = null;
  private poll: NodeJS.Timeout | null = null;
  private soon: NodeJS.Timeout | null = null;
  private filling: Promise<void> | null = null;

  constructor(
    private readonly parts: PushSenderParts,
    private readonly options: PushSenderOptions,
    private readonly random: () => number = Math.random,
  ) {
    const most = Math.max(1, options.slots / 2);
    this.origins = new PushLanes(Math.min(2, most), most);
    this.urls = new PushLanes(1, most);
  }

  start(): void {
    this.subscription ??= this.parts.wakeups.pushes.subscribe(() => this.wake());
    this.poll ??= setInterval(() => this.wake(), this.options.pollMs);
    this.wake();
  }

  /** Breaks off what is under way, without counting it as an attempt, and gives every webhook back. */
  async stop(): Promise<void> {
    this.subscription?.unsubscribe();
    for (const timer of [this.poll, this.soon]) if (timer !== null) clearTimeout(timer);
    this.stopping.abort(new Error('the sender stops'));
    await this.filling;
    await Promise.all(this.active);
  }

  private wake(): void {
    if (this.stopping.signal.aborted) return;
    this.soon ??= setTimeout(() => {
      this.soon = null;
      if (this.filling !== null) {
        this.wake();
        return;
      }
      this.filling = this.fill()
        .catch((error: unknown) => this.parts.onError(error))
        .finally(() => {
          this.filling = null;
        });
    }, COALESCE_MS);
  }

  /** Takes webhooks for as long as there is room and something is due. */
  private async fill(): Promise<void> {
    const { outbox } = this.parts;
    const { slots, leaseMs } = this.options;
    while (this.active.size < slots && !this.stopping.signal.aborted) {
      const full = { origins: this.origins.full(), urls: this.urls.full() };
      const leasedAt = performance.now();
      const claims = await outbox.claim(full, slots - this.active.size, leaseMs);
      if (claims.length === 0) return;
      for (const claim of claims) this.take(claim, leasedAt);
    }
  }

  private take(claim: PushClaim, leasedAt: number): void {
    this.origins.enter(claim.origin);
    this.urls.enter(claim.url);
    const work = this.tell(claim, leasedAt)
      // The lease runs out by itself, and whoever is there then goes on.
      .catch((error: unknown) => this.parts.onError(error, claim))
      .finally(() => {
        this.origins.leave(claim.origin);
        this.urls.leave(claim.url);
        this.active.delete(work);
        this.wake();
      });
    this.active.add(work);
  }

  /** One delivery after the other, under a lease that each of them renews. */
  private async tell(claim: PushClaim, leasedAt: number): Promise<void> {
    const { outbox, client } = this.parts;
    const { leaseMs } = this.options;
    let due: DuePush | null = claim.next ?? (await outbox.next(claim, leaseMs));
    let renewedAt = leasedAt;
    for (let told = 0; due !== null; told += 1) {
      if (told === IN_A_ROW) return outbox.release(claim);
      const outcome = await this.attempt(claim, due, renewedAt + leaseMs - client.timeoutMs);
      if (outcome === null) return outbox.release(claim);
      renewedAt = performance.now();
      due = await outbox.settle(claim, due.version, outcome, leaseMs);
    }
  }

  /** Null when it was broken off, or could not begin by `latest`: its answer might come when another sender has the webhook. */
  private async attempt(claim: PushClaim, due: DuePush, latest: number): Promise<PushOutcome | null> {
    if (claim.target === null) return { state: 'dead', error: 'the task was erased' };
    const codec = this.parts.codecFor(claim.protocolVersion as ProtocolVersion);
    const update = await this.parts.updates.at(claim, due.version, codec.webhook.tells);
    if (update === null) return { state: 'dead', error: 'its content was erased or cannot be read' };
    const body = Buffer.from(JSON.stringify(codec.encodeUpdate(update)));
    const headers = this.headersOf(claim, claim.target, due.version, body, codec.webhook.mediaType);
    if (performance.now() >= latest) return null;
    try {
      await this.parts.client.post(claim.target.url, headers, body, this.stopping.signal);
      this.answered(claim, true);
      return { state: 'delivered' };
    } catch (error) {
      if (this.stopping.signal.aborted && !(error instanceof WebhookFailure)) return null;
      this.answered(claim, false);
      if (!(error instanceof WebhookFailure)) throw error;
      return this.failed(due, error.message);
    }
  }

  private failed({ attempts }: DuePush, error: string): PushOutcome {
    const { maxAttempts } = this.options;
    if (attempts + 1 >= maxAttempts) return { state: 'dead', error };
    return { state: 'pending', error, waitMs: pushBackoff(attempts + 1, this.options, this.random()) };
  }

  private headersOf(
    { tenantId, taskId, configId }: PushClaim,
    { token, authentication }: WebhookTarget,
    version: number,
    body: Buffer,
    mediaType: string,
  ): Record<string, string> {
    const { scheme, credentials } = authentication ?? {};
    return {
      'Content-Type': mediaType,
      'User-Agent': 'acta',
      // The same for every attempt at one delivery, so that the webhook can tell a repetition.
      'X-Acta-Delivery': derivedId('push', tenantId, taskId, configId, version),
      'X-Acta-Signature': this.parts.signer.header(body, Math.floor(Date.now() / 1000)),
      ...(token === undefined ? {} : { 'X-A2A-Notification-Token': token }),
      ...(scheme === undefined || credentials === undefined ? {} : { Authorization: `${scheme} ${credentials}` }),
    };
  }

  private answered({ origin, url }: PushClaim, well: boolean): void {
    this.origins.answered(origin, well);
    this.urls.answered(url, well);
  }
}

/** How long to wait after the given number of attempts: exponential, half of it jitter. `random` is in [0, 1). */
export function pushBackoff(
  attempts: number,
  { backoffMs, maxBackoffMs }: Pick<PushSenderOptions, 'backoffMs' | 'maxBackoffMs'>,
  random: number,
): number {
  const wait = Math.min(backoffMs * 2 ** (attempts - 1), maxBackoffMs);
  return wait / 2 + (wait / 2) * random;
}
