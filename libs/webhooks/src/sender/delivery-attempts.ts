import { backoffMs, derivedId } from '@app/domain';
import { isUnavailable, sqlStateOf, type WebhookTarget } from '@app/storage';
import { type A2aCodec, PROTOCOLS } from '@app/wire';
import { Injectable } from '@nestjs/common';
import type { DeliveryOutcome, DueDelivery, WebhookClaim } from '../outbox/webhook-outbox.js';
import { maxAttemptMs, WebhookClient } from '../requests/webhook-client.js';
import { WebhookFailure } from '../requests/webhook-failure.js';
import { WebhookPayloads } from '../requests/webhook-payloads.js';
import { WebhookSigner } from '../requests/webhook-signer.js';
import { WebhookTraces } from '../requests/webhook-traces.js';
import { WebhookLog } from '../webhook-log.js';
import { WebhookOptions } from '../webhook-options.js';
import type { Slot } from './sender-slots.js';

/** `retired`: the target no longer exists, and the webhook is to be removed. */
export type AttemptResult =
  DeliveryOutcome | { readonly state: 'retired'; readonly error: string; readonly status: number };

interface PreparedRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

type Dead = Extract<DeliveryOutcome, { state: 'dead' }>;

/** Sends one delivery once, and decides what follows. */
@Injectable()
export class DeliveryAttempts {
  constructor(
    private readonly payloads: WebhookPayloads,
    private readonly traces: WebhookTraces,
    private readonly client: WebhookClient,
    private readonly signer: WebhookSigner,
    private readonly log: WebhookLog,
    private readonly options: WebhookOptions,
  ) {}

  /**
   * Returns null if the signal aborted, or if the request could not start `maxAttemptMs` before `leaseEnd` (in milliseconds of
   * `performance.now()`): it could then end after the lease, when a different sender has the webhook. Throws only if the database
   * is not available.
   */
  async attempt(
    claim: WebhookClaim,
    due: DueDelivery,
    slot: Slot,
    { leaseEnd, signal }: { readonly leaseEnd: number; readonly signal: AbortSignal },
  ): Promise<AttemptResult | null> {
    try {
      const prepared = await this.prepare(claim, due.version);
      if ('state' in prepared) return prepared;
      if (signal.aborted || performance.now() >= leaseEnd - maxAttemptMs(this.options)) return null;
      await this.client.post(prepared.url, prepared.headers, prepared.body, signal);
      slot.report(true);
      return { state: 'delivered' };
    } catch (error) {
      if (error instanceof WebhookFailure) return this.resultOf(error, due, slot);
      if (signal.aborted) return null;
      if (isUnavailable(error) || sqlStateOf(error) !== undefined) throw error;
      // An error that repeats must not hold back the later deliveries forever, so the attempt counts.
      this.log.error(error, claim);
      return this.retry(due, new WebhookFailure('temporary', 'the request could not be created'));
    }
  }

  private resultOf(failure: WebhookFailure, due: DueDelivery, slot: Slot): AttemptResult {
    const { kind, message: error, status } = failure;
    if (kind === 'retired') return { state: 'retired', error, status: status! };
    if (kind === 'rejected') return dead('rejected', error, status);
    slot.report(false);
    return this.retry(due, failure);
  }

  /** The wait is the backoff, or the one that the target requests, if that is longer. */
  private retry({ attempts }: DueDelivery, { message: error, status, retryAfterMs }: WebhookFailure): DeliveryOutcome {
    if (attempts + 1 >= this.options.maxAttempts) return dead('attempts-exhausted', error, status);
    const backoff = backoffMs(attempts + 1, this.options, Math.random());
    return { state: 'pending', error, waitMs: Math.max(backoff, retryAfterMs ?? 0) };
  }

  private async prepare(claim: WebhookClaim, version: number): Promise<PreparedRequest | Dead> {
    const { target, protocolVersion } = claim;
    if (target === 'erased') return dead('erased', 'the task was erased');
    if (target === 'unreadable') {
      return dead('unreadable', 'the webhook cannot be decrypted with the secret of this server');
    }
    const codec = codecOf(protocolVersion);
    if (codec === undefined) {
      return dead(
        'unreadable',
        `the webhook has the A2A version "${protocolVersion}", which this server does not have`,
      );
    }
    const update = await this.payloads.updateOf(claim, version, codec.webhook.payload);
    if (update === null) return dead('erased', 'the content was erased or cannot be read');
    const body = Buffer.from(JSON.stringify(codec.encodeUpdate(update)));
    const headers = await this.headersOf(claim, target, version, body);
    return { url: target.url, headers: { 'Content-Type': codec.webhook.mediaType, ...headers }, body };
  }

  private async headersOf(
    claim: WebhookClaim,
    { token, authentication }: WebhookTarget,
    version: number,
    body: Buffer,
  ): Promise<Record<string, string>> {
    const { scheme, credentials } = authentication ?? {};
    const trace = await this.traces.traceOf(claim, version);
    return {
      'User-Agent': 'acta',
      'X-Acta-Delivery': deliveryIdOf(claim, version),
      'X-Acta-Signature': this.signer.header(body, Math.floor(Date.now() / 1000)),
      ...(token === undefined ? {} : { 'X-A2A-Notification-Token': token }),
      ...(scheme === undefined || credentials === undefined ? {} : { Authorization: `${scheme} ${credentials}` }),
      ...(trace === null ? {} : { traceparent: trace.parent }),
      ...(trace?.state === undefined ? {} : { tracestate: trace.state }),
    };
  }
}

/** Returns the id of a delivery. It is the same for every attempt, so that the webhook can detect a duplicate. */
export const deliveryIdOf = ({ tenantId, taskId, subject, configId }: WebhookClaim, version: number): string =>
  derivedId('push', tenantId, taskId, subject, configId, version);

const dead = (reason: Dead['reason'], error: string, status: number | null = null): Dead => ({
  state: 'dead',
  reason,
  error,
  ...(status === null ? {} : { status }),
});

const codecOf = (version: string): A2aCodec | undefined =>
  Object.values(PROTOCOLS).find(({ codec }) => codec.version === version)?.codec;
