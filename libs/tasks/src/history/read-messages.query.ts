import type { Message, Principal } from '@app/domain';
import { DECODED_COLUMNS, type DecodedColumns, type NamedStatement } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type HistoryPage, HistoryReader, mapPage, type PageRequest } from './history-reader.js';

export interface HistoryMessage {
  readonly version: number;
  /** RFC 3339. */
  readonly recordedAt: string;
  readonly message: Message;
}

const MESSAGES: NamedStatement = {
  name: 'history_messages',
  text: `select ${DECODED_COLUMNS}
    from message m join event e on e.tenant_id = m.tenant_id and e.task_id = m.task_id and e.version = m.version
    where m.tenant_id = $1 and m.task_id = $2 and m.version > $3 order by m.version limit $4`,
};

/** The messages of a task, oldest first. Errors: TaskNotFound. */
export class ReadMessages extends Query<HistoryPage<HistoryMessage>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ReadMessages)
export class ReadMessagesHandler implements IQueryHandler<ReadMessages> {
  constructor(private readonly history: HistoryReader) {}

  async execute({ principal, taskId, page }: ReadMessages): Promise<HistoryPage<HistoryMessage>> {
    const { key } = await this.history.requireTask(principal, 'ReadMessages', taskId);
    const rows = await this.history.rows<DecodedColumns>(MESSAGES, [principal.tenantId, taskId], page);
    return mapPage(rows, (row) => {
      const message = this.history.contentOf(row, key)?.message;
      return message === undefined
        ? []
        : [{ version: row.version, recordedAt: row.recorded_at.toISOString(), message }];
    });
  }
}
