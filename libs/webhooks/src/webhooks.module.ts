import { Database, EventDecoder, ServerSecret, TaskWakeups, WebhookCipher } from '@app/storage';
import { PushPolicy, TaskReader } from '@app/tasks';
import type { A2aCodec, ProtocolVersion } from '@app/wire';
import { type DynamicModule, Logger, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ListPushesHandler } from './list-webhook-deliveries.query.js';
import { PushOutbox } from './webhook-outbox.js';
import { PUSH_DEFAULTS, PushSender } from './webhook-sender.js';
import { PushSigner } from './webhook-signer.js';
import { PushUpdates } from './webhook-payloads.js';
import { WebhookClient } from './webhook-client.js';

export interface PushOptions {
  readonly codecFor: (protocolVersion: ProtocolVersion) => A2aCodec;
  /** How long a webhook may take to answer. */
  readonly timeoutMs: number;
}

/** A sender may wait out one attempt, and must be done with what follows before another one takes over. */
const LEASE_TIMEOUTS = 3;

/** Tells webhooks from this process. */
@Module({})
export class PushModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(private readonly sender: PushSender) {}

  static with({ codecFor, timeoutMs }: PushOptions): DynamicModule {
    const logger = new Logger('push');
    const onError = (error: unknown, claim?: { readonly taskId: string }) =>
      logger.error({ message: error instanceof Error ? error.message : String(error), taskId: claim?.taskId });
    return {
      module: PushModule,
      global: true,
      providers: [
        {
          provide: PushOutbox,
          inject: [Database, EventDecoder, WebhookCipher],
          useFactory: (database: Database, decoder: EventDecoder, cipher: WebhookCipher) =>
            new PushOutbox(database, decoder, cipher),
        },
        { provide: PushSigner, inject: [ServerSecret], useFactory: (secret: ServerSecret) => new PushSigner(secret) },
        {
          provide: PushSender,
          inject: [PushOutbox, PushSigner, TaskReader, TaskWakeups, PushPolicy],
          useFactory: (
            outbox: PushOutbox,
            signer: PushSigner,
            reader: TaskReader,
            wakeups: TaskWakeups,
            policy: PushPolicy,
          ) =>
            new PushSender(
              {
                outbox,
                signer,
                updates: new PushUpdates(reader),
                client: new WebhookClient(policy, timeoutMs),
                codecFor,
                wakeups,
                onError,
              },
              { ...PUSH_DEFAULTS, leaseMs: LEASE_TIMEOUTS * timeoutMs },
            ),
        },
        ListPushesHandler,
      ],
      exports: [PushOutbox, PushSigner],
    };
  }

  onApplicationBootstrap(): void {
    this.sender.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.sender.stop();
  }
}
