import { invalidField, type Part, type Principal, quoted } from '@app/domain';
import { DECODED_COLUMNS, type DecodedColumns, type NamedStatement } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type HistoryPage, HistoryReader, mapPage, type PageRequest } from './history-reader.js';

export interface PublishedPart {
  readonly version: number;
  readonly part: Part;
}

/** Chunks of the publication that clients see: the newest one of the artifact. */
const PUBLISHED_CHUNKS: NamedStatement = {
  name: 'history_delivery_chunks',
  text: `select ${DECODED_COLUMNS}
    from artifact_chunk c join event e on e.tenant_id = c.tenant_id and e.task_id = c.task_id and e.version = c.version
    where c.tenant_id = $1 and c.task_id = $2 and c.artifact_id = $3 and c.version > $4
      and c.started_version = (
        select max(n.started_version) from artifact_chunk n
        where n.tenant_id = $1 and n.task_id = $2 and n.artifact_id = $3)
    order by c.version limit $5`,
};

const ARTIFACT_EXISTS: NamedStatement = {
  name: 'artifact_exists',
  text: 'select from artifact_chunk where tenant_id = $1 and task_id = $2 and artifact_id = $3 limit 1',
};

/**
 * The parts of an artifact as it was published last. The page limit counts chunks, so a page may have more parts. Errors:
 * TaskNotFound; InvalidParameters, if the task has no such artifact.
 */
export class ReadPublishedParts extends Query<HistoryPage<PublishedPart>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly artifactId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ReadPublishedParts)
export class ReadPublishedPartsHandler implements IQueryHandler<ReadPublishedParts> {
  constructor(private readonly history: HistoryReader) {}

  async execute({ principal, taskId, artifactId, page }: ReadPublishedParts): Promise<HistoryPage<PublishedPart>> {
    const { key } = await this.history.requireTask(principal, 'ReadPublishedParts', taskId);
    const task = [principal.tenantId, taskId, artifactId];
    const rows = await this.history.rows<DecodedColumns>(PUBLISHED_CHUNKS, task, page);
    if (rows.items.length === 0 && !(await this.history.exists(ARTIFACT_EXISTS, task))) {
      throw invalidField(
        'artifactId',
        `the task has no artifact ${quoted(artifactId)}; /api/tasks/${taskId}/deliveries lists its artifacts`,
      );
    }
    return mapPage(rows, (row) =>
      (this.history.contentOf(row, key)?.artifact?.parts ?? []).map((part) => ({ version: row.version, part })),
    );
  }
}
