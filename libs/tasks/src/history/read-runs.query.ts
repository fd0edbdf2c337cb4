import { type Principal, type RecordedEvent, RUN_END_EVENTS } from '@app/domain';
import type { NamedStatement } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type HistoryPage, HistoryReader, mapPage, type PageRequest } from './history-reader.js';

type RunStarted = Extract<RecordedEvent, { type: 'RunStarted' }>;

export interface RunRecord {
  readonly runId: string;
  readonly version: number;
  readonly attempt: number;
  readonly worker: string;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Type of the event that ended the run. */
  readonly ending: string | null;
}

interface RunRow {
  readonly version: number;
  readonly facts: RunStarted['facts'];
  readonly recorded_at: Date;
  readonly ended_at: Date | null;
  readonly ending: string | null;
}

/** A run ends with the first event after its start that ends runs. */
const RUNS: NamedStatement = {
  name: 'history_runs',
  text: `select e.version, e.facts, e.recorded_at, ending.recorded_at as ended_at, ending.type as ending
    from event e
    left join lateral (
      select x.type, x.recorded_at from event x
      where x.tenant_id = e.tenant_id and x.task_id = e.task_id and x.version > e.version
        and x.type in (${RUN_END_EVENTS.map((type) => `'${type}'`).join(', ')})
      order by x.version limit 1
    ) ending on true
    where e.tenant_id = $1 and e.task_id = $2 and e.version > $3 and e.type = 'RunStarted'
    order by e.version limit $4`,
};

/** The runs of a task, in order. Errors: TaskNotFound. */
export class ReadRuns extends Query<HistoryPage<RunRecord>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ReadRuns)
export class ReadRunsHandler implements IQueryHandler<ReadRuns> {
  constructor(private readonly history: HistoryReader) {}

  async execute({ principal, taskId, page }: ReadRuns): Promise<HistoryPage<RunRecord>> {
    await this.history.requireTask(principal, 'ReadRuns', taskId);
    const rows = await this.history.rows<RunRow>(RUNS, [principal.tenantId, taskId], page);
    return mapPage(rows, ({ version, facts, recorded_at: startedAt, ended_at: endedAt, ending }) => [
      {
        ...facts,
        version,
        startedAt: startedAt.toISOString(),
        endedAt: endedAt?.toISOString() ?? null,
        ending,
      },
    ]);
  }
}
