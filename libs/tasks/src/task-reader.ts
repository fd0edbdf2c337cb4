import {
  type ArtifactContent,
  type ArtifactView,
  BOUNDS,
  joinChunks,
  type Message,
  type TaskState,
  type TaskView,
} from '@app/domain';
import type { EventLog, StoredEvent, TaskKey } from '@app/storage';
import { LOAD_CONTENT, LOAD_TASKS } from './task-view.statements.js';

/** How much of a task to read. Absent `historyLength`: all of the history within its bounds. */
export interface ViewOptions {
  readonly historyLength?: number;
  readonly artifacts: boolean;
}

export interface TaskRow {
  readonly taskId: string;
  readonly state: TaskState;
  readonly key: TaskKey | null;
}

type ContentRow = Pick<StoredEvent, 'event_id' | 'type' | 'facts' | 'content' | 'version' | 'recorded_at'> & {
  task_id: string;
  kind: 'status' | 'message' | 'chunk';
  artifact_id: string;
  started_version: number;
};

/** Reads tasks from the read models: their rows, and through the pointers what a bounded view shows of the log. */
export class TaskReader {
  constructor(private readonly log: EventLog) {}

  async rows(tenantId: string, taskIds: readonly string[]): Promise<TaskRow[]> {
    const rows = await this.log.database.run<{ task_id: string; state: TaskState; wrapped_key: Buffer | null }>(
      LOAD_TASKS,
      [tenantId, taskIds],
    );
    return rows.map((row) => ({
      taskId: row.task_id,
      state: row.state,
      key: this.log.unwrap(tenantId, row.task_id, row.wrapped_key),
    }));
  }

  /** One task, or null. */
  async view(tenantId: string, taskId: string, options: ViewOptions): Promise<TaskView | null> {
    const rows = await this.rows(tenantId, [taskId]);
    return (await this.views(tenantId, rows, options))[0] ?? null;
  }

  /** Views of several tasks in the order of their rows, with one statement for all of their content. */
  async views(tenantId: string, rows: readonly TaskRow[], options: ViewOptions): Promise<TaskView[]> {
    if (rows.length === 0) return [];
    const content = await this.log.database.run<ContentRow>(LOAD_CONTENT, [
      tenantId,
      rows.map((row) => row.taskId),
      rows.map((row) => row.state.version),
      rows.map((row) => row.state.statusMessage),
      options.historyLength ?? BOUNDS.agentMessages + BOUNDS.clientMessages,
      BOUNDS.agentMessages,
      BOUNDS.agentHistoryBytes + BOUNDS.clientHistoryBytes,
      options.artifacts ? BOUNDS.taskArtifacts : 0,
      BOUNDS.taskBytes,
    ]);
    const byTask = new Map<string, ContentRow[]>();
    for (const row of content) {
      const list = byTask.get(row.task_id) ?? [];
      list.push(row);
      byTask.set(row.task_id, list);
    }
    return rows.map((row) => this.assemble(tenantId, row, byTask.get(row.taskId) ?? []));
  }

  private assemble(tenantId: string, row: TaskRow, content: readonly ContentRow[]): TaskView {
    const history: Message[] = [];
    const artifacts = new Map<string, { startedAt: number; artifact: ArtifactContent }>();
    let statusMessage: Message | undefined;
    for (const stored of content) {
      const opened = this.log.open(stored, row.key).content;
      if (stored.kind === 'status') statusMessage = opened?.message;
      else if (stored.kind === 'message') {
        if (opened?.message !== undefined) history.push(opened.message);
      } else {
        const chunk = opened?.artifact ?? { parts: [] };
        const before = artifacts.get(stored.artifact_id);
        artifacts.set(stored.artifact_id, {
          startedAt: stored.started_version,
          artifact: before === undefined ? chunk : joinChunks(before.artifact, chunk),
        });
      }
    }
    return {
      tenantId,
      taskId: row.taskId,
      state: row.state,
      ...(statusMessage === undefined ? {} : { statusMessage }),
      history,
      artifacts: [...artifacts]
        .sort(([, a], [, b]) => a.startedAt - b.startedAt)
        .map(([artifactId, { artifact }]): ArtifactView => ({ artifactId, ...artifact })),
    };
  }
}
