import { Database, EventDecoder, ServerSecret, TaskWakeups, WebhookCipher } from '@app/storage';
import { PushPolicy, TaskReader, TaskWriter } from '@app/tasks';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Logger,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ListWebhookDeliveriesHandler } from './outbox/list-webhook-deliveries.query.js';
import { WebhookOutbox } from './outbox/webhook-outbox.js';
import { WebhookClient } from './requests/webhook-client.js';
import { WebhookPayloads } from './requests/webhook-payloads.js';
import { WebhookSigner } from './requests/webhook-signer.js';
import { WebhookTraces } from './requests/webhook-traces.js';
import { WebhookMonitor } from './sender/webhook-monitor.js';
import { WebhookRetirement } from './sender/webhook-retirement.js';
import { WEBHOOK_SENDER_DEFAULTS, WebhookSender } from './sender/webhook-sender.js';

export interface WebhooksOptions {
  /** Limit for the response of a webhook, in milliseconds. */
  readonly timeoutMs: number;
}

/** The lease covers an attempt that times out, as much time again before its request, and the statements between them. */
const LEASE_ATTEMPTS = 3;

/** Sends webhooks from this process. */
@Module({})
export class WebhooksModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly sender: WebhookSender) {}

  static with({ timeoutMs }: WebhooksOptions): DynamicModule {
    const logger = new Logger('webhooks');
    const onError = (error: unknown, claim?: { readonly taskId: string }) =>
      logger.error({ message: 'webhook sender failed', taskId: claim?.taskId, error });
    return {
      module: WebhooksModule,
      providers: [
        {
          provide: WebhookOutbox,
          inject: [Database, EventDecoder, WebhookCipher],
          useFactory: (database: Database, decoder: EventDecoder, cipher: WebhookCipher) =>
            new WebhookOutbox(database, decoder, cipher),
        },
        {
          provide: WebhookSigner,
          inject: [ServerSecret],
          useFactory: (secret: ServerSecret) => new WebhookSigner(secret),
        },
        { provide: WebhookMonitor, useValue: new WebhookMonitor((line) => logger.warn(line)) },
        {
          provide: WebhookSender,
          inject: [
            Database,
            WebhookOutbox,
            WebhookSigner,
            WebhookMonitor,
            TaskReader,
            TaskWriter,
            TaskWakeups,
            PushPolicy,
          ],
          useFactory: (
            database: Database,
            outbox: WebhookOutbox,
            signer: WebhookSigner,
            monitor: WebhookMonitor,
            reader: TaskReader,
            writer: TaskWriter,
            wakeups: TaskWakeups,
            policy: PushPolicy,
          ) => {
            const client = new WebhookClient(policy, timeoutMs);
            const payloads = new WebhookPayloads(reader);
            const traces = new WebhookTraces(database);
            const retirement = new WebhookRetirement(database, writer);
            return new WebhookSender(
              { outbox, payloads, traces, client, signer, retirement, monitor, wakeups, onError },
              { ...WEBHOOK_SENDER_DEFAULTS, leaseMs: LEASE_ATTEMPTS * client.maxAttemptMs },
            );
          },
        },
        ListWebhookDeliveriesHandler,
      ],
      exports: [WebhookOutbox, WebhookSigner, WebhookMonitor],
    };
  }

  onApplicationBootstrap(): void {
    this.sender.start();
  }

  /** Runs when the workers have stopped, so that this process sends the last events of their runs. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.sender.stop();
  }
}
