import { Database, EventDecoder } from '@app/storage';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { surfaceOf } from '../edge/surfaces.js';

/** What this process measures of itself, for Prometheus. No label names a tenant, a caller or a task. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private readonly requests = new Histogram({
    name: 'acta_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer; sends that wait and streams are as long as they take',
    labelNames: ['surface', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers: [this.registry],
  });

  constructor(database: Database, decoder: EventDecoder) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    fromCounts({
      name: 'acta_content_skipped_total',
      help: 'Stored content that could not be shown: a record that someone spoiled',
      label: 'reason',
      registers,
      counts: () => decoder.skipped,
    });
    fromCounts({
      name: 'acta_database_round_trips_total',
      help: 'Statements and transactions that this process has sent',
      label: 'kind',
      registers,
      counts: () => ({ ...database.counts }),
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
      help: 'Work of all tenants and processes that waits for a worker or is held by one',
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

  /** Measures every request from here on. */
  observe(fastify: FastifyInstance): void {
    fastify.addHook('onResponse', async (request, reply) => {
      const labels = { surface: surfaceOf(request), status: `${Math.trunc(reply.statusCode / 100)}xx` };
      this.requests.observe(labels, reply.elapsedTime / 1_000);
    });
  }
}

/** A counter over numbers that someone else counts. */
function fromCounts(options: {
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
