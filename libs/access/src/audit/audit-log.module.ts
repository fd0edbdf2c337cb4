import { Clock } from '@app/domain';
import { Module } from '@nestjs/common';
import { AuditLog } from './audit-log.js';

/** Provides the audit log. */
@Module({ providers: [AuditLog, Clock], exports: [AuditLog] })
export class AuditLogModule {}
