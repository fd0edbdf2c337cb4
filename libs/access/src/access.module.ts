import { Clock } from '@app/domain';
import { type DynamicModule, Module } from '@nestjs/common';
import { AuditLogModule } from './audit/audit-log.module.js';
import { AccessOptions, Authenticator } from './authentication/authenticator.js';
import { ApiKeys } from './keys/api-keys.js';

/** Provides authentication. */
@Module({ imports: [AuditLogModule], providers: [Clock, ApiKeys, Authenticator], exports: [ApiKeys, Authenticator] })
export class AccessModule {
  static with(options: AccessOptions): DynamicModule {
    return { module: AccessModule, providers: [{ provide: AccessOptions, useValue: options }] };
  }
}
