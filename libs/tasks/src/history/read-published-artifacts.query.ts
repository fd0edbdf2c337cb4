import type { Principal } from '@app/domain';
import type { NamedStatement } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type HistoryPage, HistoryReader, mapPage, type PageRequest } from './history-reader.js';

/** One publication of an artifact by a run. */
export interface PublishedArtifact {
  readonly artifactId: string;
  readonly runId: string;
  readonly version: number;
  readonly chunks: number;
  readonly parts: number;
  readonly bytes: number;
  /** Clients see this publication: no later one has replaced it. */
  readonly current: boolean;
}

interface PublishedArtifactRow extends Omit<PublishedArtifact, 'artifactId' | 'runId'> {
  readonly artifact_id: string;
  readonly run_id: string;
}

const PUBLISHED_ARTIFACTS: NamedStatement = {
  name: 'history_deliveries',
  text: `select artifact_id, run_id, started_version as version, count(*)::integer as chunks,
      sum(parts)::integer as parts, sum(bytes)::integer as bytes,
      started_version = max(started_version) over (partition by artifact_id) as current
    from artifact_chunk where tenant_id = $1 and task_id = $2
    group by artifact_id, run_id, started_version
    having started_version > $3 order by started_version limit $4`,
};

/** The published artifacts of a task, in order, including replaced ones. Errors: TaskNotFound. */
export class ReadPublishedArtifacts extends Query<HistoryPage<PublishedArtifact>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ReadPublishedArtifacts)
export class ReadPublishedArtifactsHandler implements IQueryHandler<ReadPublishedArtifacts> {
  constructor(private readonly history: HistoryReader) {}

  async execute({ principal, taskId, page }: ReadPublishedArtifacts): Promise<HistoryPage<PublishedArtifact>> {
    await this.history.requireTask(principal, 'ReadPublishedArtifacts', taskId);
    const rows = await this.history.rows<PublishedArtifactRow>(PUBLISHED_ARTIFACTS, [principal.tenantId, taskId], page);
    return mapPage(rows, ({ artifact_id: artifactId, run_id: runId, ...delivery }) => [
      { artifactId, runId, ...delivery },
    ]);
  }
}
