import { type DynamicModule, Module } from '@nestjs/common';
import { Database } from './postgres/database.js';
import { EventDecoder } from './crypto/event-decoder.js';
import { WebhookCipher } from './crypto/webhook-cipher.js';
import type { Storage } from './postgres/open-storage.js';
import { ServerSecret } from './crypto/server-secret.js';
import { TaskWakeups } from './wakeups/task-wakeups.js';

/**
 * Provides the parts of a storage to all modules. The caller opens it, so that its errors are reported before Nest
 * starts.
 */
@Module({})
export class StorageModule {
  static with(storage: Pick<Storage, 'database' | 'secret' | 'wakeups'>): DynamicModule {
    const providers = [
      { provide: Database, useValue: storage.database },
      { provide: ServerSecret, useValue: storage.secret },
      { provide: EventDecoder, useValue: new EventDecoder(storage.secret) },
      { provide: WebhookCipher, useValue: new WebhookCipher(storage.secret) },
      { provide: TaskWakeups, useValue: storage.wakeups },
    ];
    return { module: StorageModule, global: true, providers, exports: providers };
  }
}
