import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ListWebhookDeliveriesHandler } from './outbox/list-webhook-deliveries.query.js';
import { WebhookOutbox } from './outbox/webhook-outbox.js';
import { maxAttemptMs, WebhookClient } from './requests/webhook-client.js';
import { WebhookPayloads } from './requests/webhook-payloads.js';
import { WebhookSigner } from './requests/webhook-signer.js';
import { WebhookTraces } from './requests/webhook-traces.js';
import { DeliveryAttempts } from './sender/delivery-attempts.js';
import { WebhookMonitor } from './sender/webhook-monitor.js';
import { WebhookRetirement } from './sender/webhook-retirement.js';
import { WebhookSender } from './sender/webhook-sender.js';
import { WebhookLog } from './webhook-log.js';
import { WEBHOOK_DEFAULTS, WebhookOptions } from './webhook-options.js';

/** The lease covers an attempt that times out, as much time again before its request, and the statements between them. */
const LEASE_ATTEMPTS = 3;

/** Sends webhooks from this process. */
@Module({
  providers: [
    WebhookLog,
    WebhookOutbox,
    WebhookPayloads,
    WebhookTraces,
    WebhookClient,
    WebhookSigner,
    DeliveryAttempts,
    WebhookRetirement,
    WebhookMonitor,
    WebhookSender,
    ListWebhookDeliveriesHandler,
  ],
  exports: [WebhookMonitor],
})
export class WebhooksModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly sender: WebhookSender) {}

  static with(settings: Pick<WebhookOptions, 'timeoutMs'>): DynamicModule {
    const leaseMs = LEASE_ATTEMPTS * maxAttemptMs(settings);
    const options: WebhookOptions = { ...WEBHOOK_DEFAULTS, ...settings, leaseMs };
    return { module: WebhooksModule, providers: [{ provide: WebhookOptions, useValue: options }] };
  }

  onApplicationBootstrap(): void {
    this.sender.start();
  }

  /** Runs when the workers have stopped, so that this process sends the last events of their runs. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.sender.stop();
  }
}
