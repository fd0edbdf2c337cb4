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

/** The sender of one replica, impatient enough for a test. */
export function senderOf(replica: Replica, setup: SenderSetup = {}): PushSender {
  const { policy = new PushPolicy(true, true), resolve, timeoutMs = 2_000, ...options } = setup;
  const { log, reader, wakeups, secret, errors } = replica;
  const sender = new PushSender(
    {
      outbox: new PushOutbox(log),
      updates: new PushUpdates(log, reader),
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
