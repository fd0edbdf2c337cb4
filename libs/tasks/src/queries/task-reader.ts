import {
  BOUNDS,
  boundView,
  type ConversationMessage,
  conversationOf,
  countWithin,
  isUuid,
  type RecordedEvent,
  messageOfEvent,
  type SizedArtifact,
  type SizedMessage,
  type TaskState,
  type TaskView,
  type UnboundedTask,
  appendChunk,
} from '@app/domain';
import { EventLog } from '@app/event-log';
import {
  Database,
  type DecodedColumns,
  EventDecoder,
  type ServerSecret,
  type StoredEvent,
  type TaskKey,
  type WrappedKeyColumns,
} from '@app/storage';
import { Injectable } from '@nestjs/common';
import { LOAD_CONTENT, LOAD_SIZES, LOAD_TASKS } from './task-view.statements.js';

/** How much of a task to read. `historyLength` absent: all messages within the bounds. */
export interface ViewOptions {
  readonly historyLength?: number;
  readonly artifacts: boolean;
}

/** An event as it is stored, and with its content decrypted. */
export interface StoredTaskEvent {
  readonly stored: StoredEvent;
  readonly event: RecordedEvent;
}

export interface TaskRow {
  readonly taskId: string;
  readonly state: TaskState;
  readonly key: TaskKey | null;
}

/** A row of `LOAD_CONTENT`. The columns of the event are null if its content exceeds the bounds. */
type ContentRow = {
  task_id: string;
  kind: 'status' | 'message' | 'artifact' | 'chunk';
  artifact_id: string;
  /** Sums are 64-bit integers, which arrive as text. */
  bytes: string | null;
  parts: string | null;
  total_count: string;
  too_large: boolean | null;
  version: number | null;
} & Omit<DecodedColumns, 'version'>;

type TaskColumns = { task_id: string; state: TaskState } & WrappedKeyColumns;

/** Limits of one read, in addition to the bounds of a task. */
interface Limits {
  readonly messages: number;
  readonly messageBytes: number;
  readonly artifacts: number;
}

/** The most messages that a view can show. */
const ALL_MESSAGES = BOUNDS.agentMessages + BOUNDS.clientMessages;
/** Content of several tasks that is in memory concurrently. */
const BATCH_BYTES = BOUNDS.pageBytes;
/** Encrypted content is at most this much larger than its JSON: the nonce and the tag. */
const ENCRYPTION_BYTES = 64;

/** Reads tasks from the read models, and from the event log the content that a bounded view shows. */
@Injectable()
export class TaskReader {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly log: EventLog,
  ) {}

  /** Creates a reader outside of Nest. */
  static create({ database, secret }: { readonly database: Database; readonly secret: ServerSecret }): TaskReader {
    const decoder = new EventDecoder(secret);
    return new TaskReader(database, decoder, new EventLog(database, secret, decoder));
  }

  /** Returns the events of one task after a version, in order, at most `limit`. */
  events(tenantId: string, taskId: string, after: number, limit: number): Promise<RecordedEvent[]> {
    return this.log.read(tenantId, taskId, after, limit);
  }

  /** Returns the same events, each also as it is stored. */
  async storedEvents(tenantId: string, taskId: string, after: number, limit: number): Promise<StoredTaskEvent[]> {
    const rows = await this.log.readStored(tenantId, taskId, after, limit);
    return rows.map(({ event: stored, key }) => ({ stored, event: this.decoder.decode(stored, key) }));
  }

  /** Returns the state of a task as of a version, or null if it has no such version. `from` is an earlier state to start from. */
  stateAt(tenantId: string, taskId: string, version: number, from?: TaskState | null): Promise<TaskState | null> {
    return this.log.stateAt(tenantId, taskId, version, from);
  }

  /**
   * Returns the rows of the tasks that exist, in no particular order. A text that is not a UUID in canonical form is the id of
   * no task.
   */
  async rows(tenantId: string, taskIds: readonly string[]): Promise<TaskRow[]> {
    const rows = await this.database.run<TaskColumns>(LOAD_TASKS, [tenantId, taskIds.filter(isUuid)]);
    return rows.map((row) => this.rowOf(tenantId, row));
  }

  /** Returns the row of a task from the columns that another statement has read. */
  rowOf(tenantId: string, row: TaskColumns): TaskRow {
    return {
      taskId: row.task_id,
      state: this.decoder.decodeState(tenantId, row.task_id, row.state),
      key: this.decoder.unwrapKey(tenantId, row.task_id, row),
    };
  }

  /** Returns one task, or null if it does not exist. */
  async view(tenantId: string, taskId: string, options: ViewOptions): Promise<TaskView | null> {
    const rows = await this.rows(tenantId, [taskId]);
    return (await this.views(tenantId, rows, options))[0] ?? null;
  }

  /** Returns several tasks in the order of their rows. One statement reads the content of all. */
  async views(tenantId: string, rows: readonly TaskRow[], options: ViewOptions): Promise<TaskView[]> {
    const { historyLength = ALL_MESSAGES, artifacts } = options;
    const tasks = await this.read(tenantId, rows, {
      messages: historyLength,
      messageBytes: BOUNDS.taskBytes,
      artifacts: artifacts ? BOUNDS.taskArtifacts : 0,
    });
    return tasks.map((task) => boundView(task, options.historyLength));
  }

  /** Yields the same views one by one. Reads them in batches of at most 4 MiB of content, for tasks that are many and large. */
  async *viewsOneByOne(tenantId: string, rows: readonly TaskRow[], options: ViewOptions): AsyncGenerator<TaskView> {
    const sizes = await this.sizes(tenantId, rows, options);
    for (let first = 0; first < rows.length;) {
      const batch = rows.slice(first);
      const batched = Math.max(
        1,
        countWithin(
          batch.map(({ taskId }) => ({ bytes: sizes.get(taskId)! })),
          BATCH_BYTES,
        ),
      );
      yield* await this.views(tenantId, batch.slice(0, batched), options);
      first += batched;
    }
  }

  private async sizes(tenantId: string, rows: readonly TaskRow[], options: ViewOptions): Promise<Map<string, number>> {
    const sizes = await this.database.run<{ task_id: string; bytes: string }>(LOAD_SIZES, [
      ...taskParameters(tenantId, rows),
      options.historyLength ?? ALL_MESSAGES,
      options.artifacts,
    ]);
    return new Map(sizes.map(({ task_id: taskId, bytes }) => [taskId, Math.min(Number(bytes), BOUNDS.taskBytes)]));
  }

  /** Returns the messages of a task until the version of the row, oldest first, for its agent. Its bounds are wider than those of a view. */
  async conversation(tenantId: string, row: TaskRow): Promise<ConversationMessage[]> {
    const [task] = await this.read(tenantId, [row], {
      messages: ALL_MESSAGES,
      messageBytes: BOUNDS.agentHistoryBytes + BOUNDS.clientHistoryBytes,
      artifacts: 0,
    });
    const { history, statusMessage } = task!;
    return conversationOf([...history, ...(statusMessage === undefined ? [] : [statusMessage])]);
  }

  private async read(tenantId: string, rows: readonly TaskRow[], limits: Limits): Promise<UnboundedTask[]> {
    if (rows.length === 0) return [];
    const content = await this.database.run<ContentRow>(LOAD_CONTENT, [
      ...taskParameters(tenantId, rows),
      limits.messages,
      BOUNDS.agentMessages,
      limits.messageBytes,
      limits.artifacts,
      BOUNDS.taskBytes,
      limits.messageBytes + ENCRYPTION_BYTES,
    ]);
    const byTask = new Map<string, ContentRow[]>(rows.map((row) => [row.taskId, []]));
    for (const row of content) byTask.get(row.task_id)!.push(row);
    return rows.map((row) => this.assemble(tenantId, row, byTask.get(row.taskId)!));
  }

  private assemble(tenantId: string, row: TaskRow, content: readonly ContentRow[]): UnboundedTask {
    const history: SizedMessage[] = [];
    const artifacts = new Map<string, SizedArtifact>();
    let statusMessage: SizedMessage | null = null;
    let historyCount = 0;
    let artifactCount = 0;
    for (const stored of content) {
      const { artifact_id: artifactId } = stored;
      switch (stored.kind) {
        case 'status':
          statusMessage = messageOfEvent(row.taskId, this.open(row, stored));
          break;
        case 'message':
          historyCount = Number(stored.total_count);
          history.push(stored.version === null ? unread(stored) : messageOfEvent(row.taskId, this.open(row, stored))!);
          break;
        case 'artifact': {
          artifactCount = Number(stored.total_count);
          const size = { bytes: Number(stored.bytes), parts: Number(stored.parts) };
          artifacts.set(artifactId, { artifactId, ...size, artifact: { parts: [] } });
          break;
        }
        case 'chunk': {
          const before = artifacts.get(artifactId)!;
          const { content: opened, missing } = this.open(row, stored);
          artifacts.set(artifactId, { ...before, ...appendChunk(before, opened?.artifact, missing) });
        }
      }
    }
    return {
      tenantId,
      taskId: row.taskId,
      state: row.state,
      ...(statusMessage === null ? {} : { statusMessage }),
      history,
      historyCount,
      artifacts: [...artifacts.values()],
      artifactCount,
    };
  }

  private open(row: TaskRow, stored: ContentRow): RecordedEvent {
    const event = this.decoder.decode({ ...stored, version: stored.version! }, row.key);
    if (stored.too_large !== true) return event;
    // Only content that was altered is larger than its facts state.
    if ('bytes' in event.facts && (event.facts.bytes ?? 0) <= BOUNDS.taskBytes)
      this.decoder.skippedContent['too-large'] += 1;
    return { ...event, missing: 'unreadable' };
  }
}

/** Returns the first parameters of the statements: tenant, task ids, versions, versions of the status messages. */
const taskParameters = (tenantId: string, rows: readonly TaskRow[]) => [
  tenantId,
  rows.map((row) => row.taskId),
  rows.map((row) => row.state.version),
  rows.map((row) => row.state.statusMessage),
];

/** The first message beyond the byte limit. No view shows it, but its size counts. */
const unread = ({ bytes }: ContentRow): SizedMessage => ({
  messageId: '',
  role: 'user',
  bytes: Number(bytes),
  message: null,
});
