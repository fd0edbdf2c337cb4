import { DomainError } from '@app/domain';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { EdgeRequest } from '../edge/caller.js';
import { Metrics } from './metrics.js';

/** Whose admins operate the server: what it measures is of all tenants. */
const OPERATING_TENANT = 'default';

/** Prometheus. On a network only with a credential of the deployment's own admins; on loopback for whoever asks. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  async read(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    const { principal } = request;
    if (principal !== undefined && (principal.role !== 'admin' || principal.tenantId !== OPERATING_TENANT)) {
      throw new DomainError('Forbidden', `metrics are for admins of the tenant "${OPERATING_TENANT}"`, {});
    }
    const { registry } = this.metrics;
    void reply.header('Content-Type', registry.contentType).send(await registry.metrics());
  }
}
