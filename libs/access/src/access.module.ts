import type { OidcConfig } from '@app/config';
import { Database } from '@app/storage';
import { type DynamicModule, Module } from '@nestjs/common';
import { ApiKeys } from './keys/api-keys.js';
import { AuditLog } from './audit/audit-log.js';
import { Authenticator } from './authentication/authenticator.js';

export interface AccessOptions {
  readonly auth: 'required' | 'none';
  /** Of the bootstrap admin. */
  readonly token: string;
  readonly oidc: OidcConfig | null;
}

/** Who calls, by which key, and what is recorded of it. */
@Module({})
export class AccessModule {
  static with(options: AccessOptions): DynamicModule {
    const providers = [
      { provide: AuditLog, inject: [Database], useFactory: (database: Database) => new AuditLog(database) },
      {
        provide: ApiKeys,
        inject: [Database, AuditLog],
        useFactory: (database: Database, trail: AuditLog) => new ApiKeys(database, trail),
      },
      {
        provide: Authenticator,
        inject: [ApiKeys],
        useFactory: (apiKeys: ApiKeys) => new Authenticator({ ...options, apiKeys }),
      },
    ];
    return { module: AccessModule, global: true, providers, exports: providers };
  }
}
