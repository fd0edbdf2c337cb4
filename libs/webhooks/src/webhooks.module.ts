import { Database, EventDecoder, ServerSecret, TaskWakeups, WebhookCipher } from '@app/storage';
import { PushPolicy, TaskReader } from '@app/tasks';
import type { A2aCodec, ProtocolVersion } from '@app/wire';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Logger,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ListWebhookDeliveriesHandler } from './outbox/list-webhook-deliveries.query.js';
import { WebhookOutbox } from './outbox/webhook-outbox.js';
import { WEBHOOK_SENDER_DEFAULTS, WebhookSender } from './sender/webhook-sender.js';
import { WebhookSigner } from './requests/webhook-signer.js';
import { WebhookPayloads } from './requests/webhook-payloads.js';
import { WebhookClient } from './requests/webhook-client.js';

export interface WebhooksOptions {
  readonly codecFor: (protocolVersion: ProtocolVersion) => A2aCodec;
  /** Limit for the response of a webhook, in milliseconds. */
  readonly timeoutMs: number;
}

/** The lease covers one attempt that times out, the start of the next one, and the statements between them. */
const LEASE_TIMEOUTS = 3;

/** Sends webhooks from this process. */
@Module({})
export class WebhooksModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly sender: WebhookSender) {}

  static with({ codecFor, timeoutMs }: WebhooksOptions): DynamicModule {
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
        {
          provide: WebhookSender,
          inject: [WebhookOutbox, WebhookSigner, TaskReader, TaskWakeups, PushPolicy],
          useFactory: (
            outbox: WebhookOutbox,
            signer: WebhookSigner,
            reader: TaskReader,
            wakeups: TaskWakeups,
            policy: PushPolicy,
          ) =>
            new WebhookSender(
              {
                outbox,
                signer,
                payloads: new WebhookPayloads(reader),
                client: new WebhookClient(policy, timeoutMs),
                codecFor,
                wakeups,
                onError,
              },
              { ...WEBHOOK_SENDER_DEFAULTS, leaseMs: LEASE_TIMEOUTS * timeoutMs },
            ),
        },
        ListWebhookDeliveriesHandler,
      ],
      exports: [WebhookOutbox, WebhookSigner],
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
