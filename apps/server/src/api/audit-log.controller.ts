import { AuditLog } from '@app/access';
import type { Principal } from '@app/domain';
import { type HttpQuery, native } from '@app/wire';
import { Controller, Get, Query } from '@nestjs/common';
import { CurrentPrincipal } from '../edge/callers/request-parameters.js';
import { Roles, Surface } from '../edge/routes/route-config.js';

/** The audit log of the caller's tenant. */
@Surface('api')
@Roles('admin')
@Controller('api/audit/log')
export class AuditLogController {
  constructor(private readonly auditLog: AuditLog) {}

  @Get()
  async list(@CurrentPrincipal() principal: Principal, @Query() query: HttpQuery) {
    return native.encodePage('entries', await this.auditLog.list(principal, native.decodeAuditLog(query)));
  }
}
