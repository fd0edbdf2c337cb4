import { OPERATING_TENANT } from '@app/access';
import { DomainError } from '@app/domain';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { EdgeRequest } from '../edge/callers/edge-request.js';
import { Public, Roles, Surface } from '../edge/routes/route-config.js';
import { Metrics } from './metrics.js';

/** Metrics in the format of Prometheus. They need no credential on a loopback address, else a key with the role metrics. */
@Surface('operations')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @Public('on-loopback')
  @Roles('admin', 'metrics')
  async read(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    const { principal } = request;
    if (principal !== undefined && principal.tenantId !== OPERATING_TENANT) {
      throw new DomainError(
        'Forbidden',
        `the metrics cover all tenants; use a key of \`acta keys create --metrics\`, or an admin of the tenant "${OPERATING_TENANT}"`,
        {},
      );
    }
    const { registry } = this.metrics;
    void reply.header('Content-Type', registry.contentType).send(await registry.metrics());
  }
}
