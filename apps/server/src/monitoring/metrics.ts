import { Database, EventDecoder } from '@app/storage';
import { WebhookMonitor } from '@app/webhooks';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { surfaceOf } from '../edge/routes/surfaces.js';

/** The metrics of this process, for Prometheus. No label contains a tenant, a caller or a task. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private readonly requests = new Histogram({
    name: 'acta_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response, including blocking sends and streams',
    labelNames: ['surface', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers: [this.registry],
  });

  constructor(database: Database, decoder: EventDecoder, webhooks: WebhookMonitor) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    registerCounter({
      name: 'acta_content_skipped_total',
      help: 'Stored content that was not returned, by reason',
      label: 'reason',
      registers,
      counts: () => decoder.skippedContent,
    });
    registerCounter({
      name: 'acta_database_round_trips_total',
      help: 'Statements and transactions that this process has sent to the database',
      label: 'kind',
      registers,
      counts: () => ({ ...database.statementCounts }),
    });
    registerCounter({
      name: 'acta_webhook_attempts_total',
      help: 'Attempts at webhook deliveries of this process: delivered, to be retried, or dead',
      label: 'outcome',
      registers,
      counts: () => webhooks.outcomes,
    });
    registerCounter({
      name: 'acta_webhook_dead_total',
      help: 'Webhook deliveries that are not attempted again',
      label: 'reason',
      registers,
      counts: () => webhooks.deadByReason,
    });
    const deliveries = new Gauge({
      name: 'acta_webhook_deliveries',
      help: 'Webhook deliveries of all tenants that are pending or dead',
      labelNames: ['state'],
      registers,
      async collect() {
        const { rows } = await database.pool.query<{ pending: number; dead: number }>(
          `select (select count(*)::integer from push_delivery where state = 'pending') as pending,
            (select count(*)::integer from push_delivery where state = 'dead') as dead`,
        );
        deliveries.set({ state: 'pending' }, rows[0]!.pending);
        deliveries.set({ state: 'dead' }, rows[0]!.dead);
      },
    });
    const connections = new Gauge({
      name: 'acta_database_connections',
      help: 'Connections of the pool, and requests that wait for one',
      labelNames: ['state'],
      registers,
      collect() {
        const { totalCount, idleCount, waitingCount } = database.pool;
        connections.set({ state: 'active' }, totalCount - idleCount);
        connections.set({ state: 'idle' }, idleCount);
        connections.set({ state: 'waiting' }, waitingCount);
      },
    });
    const queue = new Gauge({
      name: 'acta_runs',
      help: 'Runs of all tenants that wait for a worker or that a worker has claimed',
      labelNames: ['agent', 'state'],
      registers,
      async collect() {
        queue.reset();
        const { rows } = await database.pool.query<{ agent: string; waiting: number; held: number }>(
          `select agent, count(*) filter (where run_id is null)::integer as waiting, count(run_id)::integer as held
          from run_queue group by agent`,
        );
        for (const { agent, waiting, held } of rows) {
          queue.set({ agent, state: 'waiting' }, waiting);
          queue.set({ agent, state: 'held' }, held);
        }
      },
    });
  }

  /** Measures every request from now on. */
  observe(fastify: FastifyInstance): void {
    fastify.addHook('onResponse', async (request, reply) => {
      const labels = { surface: surfaceOf(request), status: `${Math.trunc(reply.statusCode / 100)}xx` };
      this.requests.observe(labels, reply.elapsedTime / 1_000);
    });
  }
}

/** Registers a counter that reads its values whenever the metrics are collected. */
function registerCounter(options: {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly registers: Registry[];
  readonly counts: () => Readonly<Record<string, number>>;
}): void {
  const { name, help, label, registers, counts } = options;
  new Counter({
    name,
    help,
    labelNames: [label],
    registers,
    collect() {
      this.reset();
      for (const [value, count] of Object.entries(counts())) this.inc({ [label]: value }, count);
    },
  });
}
