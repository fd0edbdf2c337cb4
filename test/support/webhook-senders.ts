import { PushPolicy } from '@app/tasks';
import {
  DeliveryAttempts,
  WebhookClient,
  type WebhookLog,
  type WebhookLogLine,
  WebhookMonitor,
  type WebhookOptions,
  WebhookOutbox,
  WebhookPayloads,
  WebhookRetirement,
  WebhookSender,
  WebhookSigner,
  WebhookTraces,
} from '@app/webhooks';
import type { Replica } from './acta.js';

export interface SenderSetup extends Partial<WebhookOptions> {
  readonly policy?: PushPolicy;
  /** Receives the log lines of dead deliveries and retired webhooks. */
  readonly log?: (line: WebhookLogLine) => void;
  /** Receives unexpected errors; absent: they fail the test. */
  readonly onError?: (error: unknown) => void;
}

const OPTIONS = {
  slots: 16,
  maxAttempts: 6,
  backoffMs: 20,
  maxBackoffMs: 200,
  timeoutMs: 2_000,
  leaseMs: 10_000,
  pollMs: 100,
} satisfies WebhookOptions;

/** Starts the webhook sender of one replica, with timeouts that are short enough for a test. */
export function startWebhookSender(replica: Replica, setup: SenderSetup = {}): WebhookSender {
  const { database, reader, writer, wakeups, secret, errors } = replica;
  const { policy = new PushPolicy(true, true), log: warn = () => undefined, ...others } = setup;
  const { onError: error = (thrown: unknown) => void errors.push(thrown), ...changes } = others;
  const log = { warn, error } as WebhookLog;
  const options = { ...OPTIONS, ...changes };
  const attempts = new DeliveryAttempts(
    new WebhookPayloads(reader),
    new WebhookTraces(database),
    new WebhookClient(policy, options),
    new WebhookSigner(secret),
    log,
    options,
  );
  const sender = new WebhookSender(
    attempts,
    WebhookOutbox.over(replica),
    new WebhookRetirement(database, writer),
    new WebhookMonitor(log),
    wakeups,
    log,
    options,
  );
  sender.start();
  return sender;
}
