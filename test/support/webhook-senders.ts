import {
  WebhookClient,
  type WebhookLogLine,
  WebhookMonitor,
  WebhookOutbox,
  WebhookPayloads,
  WebhookRetirement,
  WebhookSender,
  type WebhookSenderOptions,
  WebhookSigner,
  WebhookTraces,
} from '@app/webhooks';
import type { Resolver } from '@app/network';
import { PushPolicy } from '@app/tasks';
import type { Replica } from './acta.js';

export interface SenderSetup extends Partial<WebhookSenderOptions> {
  readonly policy?: PushPolicy;
  readonly resolve?: Resolver;
  readonly timeoutMs?: number;
  /** Receives the log lines of dead deliveries and retired webhooks. */
  readonly log?: (line: WebhookLogLine) => void;
  readonly monitor?: WebhookMonitor;
  /** Receives unexpected errors; absent: they fail the test. */
  readonly onError?: (error: unknown) => void;
}

/** Starts the webhook sender of one replica, with timeouts that are short enough for a test. */
export function startWebhookSender(replica: Replica, setup: SenderSetup = {}): WebhookSender {
  const { policy = new PushPolicy(true, true), resolve, timeoutMs = 2_000, ...others } = setup;
  const { database, reader, writer, wakeups, secret, errors } = replica;
  const { log = () => undefined, onError = (error) => errors.push(error), ...more } = others;
  const { monitor = new WebhookMonitor(log), ...options } = more;
  const sender = new WebhookSender(
    {
      outbox: WebhookOutbox.over(replica),
      payloads: new WebhookPayloads(reader),
      traces: new WebhookTraces(database),
      client: new WebhookClient(policy, timeoutMs, resolve),
      signer: new WebhookSigner(secret),
      retirement: new WebhookRetirement(database, writer),
      monitor,
      wakeups,
      onError,
    },
    { slots: 16, maxAttempts: 6, backoffMs: 20, maxBackoffMs: 200, leaseMs: 10_000, pollMs: 100, ...options },
  );
  sender.start();
  return sender;
}
