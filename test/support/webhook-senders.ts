import { PushOutbox, PushSender, type PushSenderOptions, PushSigner, PushUpdates, WebhookClient } from '@app/webhooks';
import type { Resolver } from '@app/network';
import { PushPolicy } from '@app/tasks';
import { v03, v1 } from '@app/wire';
import type { Replica } from './acta.js';

export interface SenderSetup extends Partial<PushSenderOptions> {
  readonly policy?: PushPolicy;
  readonly resolve?: Resolver;
  readonly timeoutMs?: number;
}

/** Starts the webhook sender of one replica, with timeouts that are short enough for a test. */
export function startWebhookSender(replica: Replica, setup: SenderSetup = {}): PushSender {
  const { policy = new PushPolicy(true, true), resolve, timeoutMs = 2_000, ...options } = setup;
  const { reader, wakeups, secret, errors } = replica;
  const sender = new PushSender(
    {
      outbox: PushOutbox.over(replica),
      updates: new PushUpdates(reader),
      client: new WebhookClient(policy, timeoutMs, resolve),
      signer: new PushSigner(secret),
      codecFor: (version) => (version === '1.0' ? v1.codec : v03.codec),
      wakeups,
      onError: (error) => errors.push(error),
    },
    { slots: 16, maxAttempts: 6, backoffMs: 20, maxBackoffMs: 200, leaseMs: 10_000, pollMs: 100, ...options },
  );
  sender.start();
  return sender;
}
