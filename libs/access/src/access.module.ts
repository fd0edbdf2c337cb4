import type { OidcConfig } from '@app/config';
import { Database } from '@app/storage';
import { type DynamicModule, Module } from '@nestjs/common';
import { ApiKeys } from './keys/api-keys.js';
import { AuditLog } from './audit/audit-log.js';
import { Authenticator } from './authentication/authenticator.js';

export interface AccessOptions {
  readonly auth: 'required' | 'none';
  /** The token of the bootstrap admin. */
  readonly token: string;
  readonly oidc: OidcConfig | null;
}

/** Provides authentication, the API keys and the audit log. */
@Module({})
export class AccessModule {
  static with(options: AccessOptions): DynamicModule {
    const providers = [
      { provide: AuditLog, inject: [Database], useFactory: (database: Database) => new AuditLog(database) },
      {
        provide: ApiKeys,
        inject: [Database, AuditLog],
        useFactory: (database: Database, auditLog: AuditLog) => new ApiKeys(database, auditLog),
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
