import {
  WebhookOutbox,
  WebhookSender,
  type WebhookSenderOptions,
  WebhookSigner,
  WebhookPayloads,
  WebhookClient,
} from '@app/webhooks';
import type { Resolver } from '@app/network';
import { PushPolicy } from '@app/tasks';
import { PROTOCOLS } from '@app/wire';
import type { Replica } from './acta.js';

export interface SenderSetup extends Partial<WebhookSenderOptions> {
  readonly policy?: PushPolicy;
  readonly resolve?: Resolver;
  readonly timeoutMs?: number;
}

/** Starts the webhook sender of one replica, with timeouts that are short enough for a test. */
export function startWebhookSender(replica: Replica, setup: SenderSetup = {}): WebhookSender {
  const { policy = new PushPolicy(true, true), resolve, timeoutMs = 2_000, ...options } = setup;
  const { reader, wakeups, secret, errors } = replica;
  const sender = new WebhookSender(
    {
      outbox: WebhookOutbox.over(replica),
      payloads: new WebhookPayloads(reader),
      client: new WebhookClient(policy, timeoutMs, resolve),
      signer: new WebhookSigner(secret),
      codecFor: (version) => PROTOCOLS[version].codec,
      wakeups,
      onError: (error) => errors.push(error),
    },
    { slots: 16, maxAttempts: 6, backoffMs: 20, maxBackoffMs: 200, leaseMs: 10_000, pollMs: 100, ...options },
  );
  sender.start();
  return sender;
}
