import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '@app/domain';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { config, Observable, Subject } from 'rxjs';
import type { Database, NamedStatement } from '../postgres/database.js';
import { isOverdue } from '../postgres/sql-state.js';

/** A stream has grown. Events come along when the append was this process's own. */
export interface TaskChange {
  readonly tenantId: string;
  readonly taskId: string;
  readonly version: number;
  readonly events?: readonly RecordedEvent[];
  /** The agent that has work waiting because of this change. */
  readonly queuedFor?: string;
  /** Webhooks are to be told of it. */
  readonly pushes?: boolean;
}

const CHANNEL = 'acta_task_changed';
/** Postgres refuses a payload of 8000 bytes or more. */
const PAYLOAD_BYTES = 7_800;
const COALESCE_MS = 5;
const RECONNECT_MS = 1_000;
const POLL_MS = 1_000;
const POLL_ALONE_MS = 200;
/** For an answer. Every poll asks something over the connection, so that one that has gone silent is noticed. */
const ANSWER_MS = 5_000;
/** For the other side to hang up as well. */
const GOODBYE_MS = 1_000;

const NOTIFY = 'select pg_notify($1, $2)';
/** Others' connections may hide their names from this role: those count as listeners. */
const OTHERS: NamedStatement = {
  name: 'other_listeners',
  text: `select exists (select 1 from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type is distinct from 'autovacuum worker'
      and (application_name = 'acta-wakeups' or application_name is null)) as present`,
};

type Wire = [tenantId: string, taskId: string, version: number, queuedFor: string | null, pushes: 0 | 1];

/**
 * Tells whoever waits that a task has changed: at once within the process, and through a coalesced NOTIFY from one
 * connection to every other. (A NOTIFY inside each append would take a lock that serializes all commits of the cluster.)
 * A wake-up is a hint: a lost one is made good by polling the tasks that someone waits on.
 */
export class TaskWakeups {
  private readonly instance = randomUUID();
  private readonly watched = new Map<
    string,
    { tenantId: string; taskId: string; subject: Subject<TaskChange>; seen: number }
  >();
  private readonly queuedSubject = new Subject<string>();
  private readonly pushesSubject = new Subject<void>();
  private pending = new Map<string, Wire>();
  /** Listens. */
  private client: pg.Client | null = null;
  /** Listens, or is about to. */
  private latest: pg.Client | null = null;
  private flushTimer: NodeJS.Timeout | null = null;
  private flushedAt = 0;
  private pollTimer: NodeJS.Timeout | null = null;
  private reconnectTimer: NodeJS.Timeout | null = null;
  private flushing: Promise<void> = Promise.resolve();
  /** No other process listens: telling nobody would still be a transaction each time. */
  private alone = false;
  private looking = false;
  private closed = false;

  constructor(private readonly database: Database) {
    // What a subscriber throws, RxJS throws again outside of any stack, which ends the process with all that waits in it.
    // The one place to say otherwise is that of all of RxJS.
    const logger = new Logger('wakeups');
    config.onUnhandledError = (error: unknown) =>
      logger.error({
        message: 'a subscriber threw, and is told of the next change all the same',
        stack: error instanceof Error ? error.stack : String(error),
      });
  }

  /** Names of agents for which work has been queued, here or elsewhere. */
  readonly queued: Observable<string> = this.queuedSubject.asObservable();

  /** There is something to be told to a webhook, from here or elsewhere. */
  readonly pushes: Observable<void> = this.pushesSubject.asObservable();

  /** Connects to the other processes. Without it only this process's own changes are heard. */
  async start(): Promise<void> {
    await this.connect();
    this.schedulePoll();
  }

  /** Announces an append of this process. Call it once the append is committed. */
  publish(change: TaskChange): void {
    this.emit(change);
    const { tenantId, taskId, version, queuedFor, pushes } = change;
    const key = keyOf(tenantId, taskId);
    const before = this.pending.get(key);
    this.pending.set(key, [
      tenantId,
      taskId,
      version,
      queuedFor ?? before?.[3] ?? null,
      pushes ? 1 : (before?.[4] ?? 0),
    ]);
    // The first change after a pause goes at once; what follows it closely is gathered.
    this.flushTimer ??= setTimeout(() => void this.flush(), Math.max(0, this.flushedAt + COALESCE_MS - Date.now()));
  }

  /** Changes of one task from now on; may repeat a version, and may skip one (the log has them all). */
  changes(tenantId: string, taskId: string): Observable<TaskChange> {
    return new Observable((subscriber) => {
      const key = keyOf(tenantId, taskId);
      const watch = this.watched.get(key) ?? { tenantId, taskId, subject: new Subject<TaskChange>(), seen: 0 };
      this.watched.set(key, watch);
      const subscription = watch.subject.subscribe(subscriber);
      return () => {
        subscription.unsubscribe();
        if (!watch.subject.observed) this.watched.delete(key);
      };
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const timer of [this.flushTimer, this.pollTimer, this.reconnectTimer]) if (timer !== null) clearTimeout(timer);
    await this.flush();
    const { latest } = this;
    this.latest = this.client = null;
    if (latest !== null) await hangUp(latest);
  }

  private emit(change: TaskChange): void {
    const watch = this.watched.get(keyOf(change.tenantId, change.taskId));
    if (watch !== undefined) {
      watch.seen = Math.max(watch.seen, change.version);
      watch.subject.next(change);
    }
    if (change.queuedFor !== undefined) this.queuedSubject.next(change.queuedFor);
    if (change.pushes === true) this.pushesSubject.next();
  }

  /** One at a time: what is published meanwhile goes with the next. */
  private flush(): Promise<void> {
    this.flushTimer = null;
    this.flushedAt = Date.now();
    this.flushing = this.flushing.then(async () => {
      const { client } = this;
      const changes = [...this.pending.values()];
      this.pending = new Map();
      if (client === null || changes.length === 0 || this.alone) return;
      for (const payload of payloads(this.instance, changes)) {
        // The others poll; a connection that broke tells so itself.
        await client
          .query({ name: 'notify', text: NOTIFY, values: [CHANNEL, payload] })
          .catch((error: unknown) => this.replaceIfSilent(client, error));
      }
    });
    return this.flushing;
  }

  private async connect(): Promise<void> {
    if (this.closed) return;
    const { connection } = this.database;
    const client = new pg.Client({
      ...(typeof connection === 'string' ? { connectionString: connection } : connection),
      application_name: 'acta-wakeups',
      keepAlive: true,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
    });
    this.latest = client;
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
    client.on('notification', ({ payload }) => this.hear(payload ?? ''));
    try {
      await client.connect();
      // A wake-up is not worth a wait for the disk.
      await client.query('set synchronous_commit = off');
      await client.query(`listen ${CHANNEL}`);
      // Whoever thought to be alone hears of this process.
      await client.query(NOTIFY, [CHANNEL, JSON.stringify([this.instance])]);
      if (this.latest !== client) return;
      this.client = client;
      this.alone = false;
    } catch {
      this.lost(client);
    }
  }

  private lost(client: pg.Client): void {
    if (this.latest !== client) return;
    this.latest = this.client = null;
    // It may be connected all the same, and just not listen or not answer.
    void hangUp(client);
    if (this.closed) return;
    this.reconnectTimer = setTimeout(() => {
      this.reconnectTimer = null;
      void this.connect();
    }, RECONNECT_MS);
  }

  private hear(payload: string): void {
    const [instance, ...changes] = wireOf(payload);
    if (instance === this.instance) return;
    this.alone = false;
    for (const [tenantId, taskId, version, queuedFor, pushes] of changes) {
      const told = pushes === 1 ? { pushes: true } : {};
      this.emit({ tenantId, taskId, version, ...(queuedFor === null ? {} : { queuedFor }), ...told });
    }
  }

  private schedulePoll(): void {
    if (this.closed) return;
    this.pollTimer = setTimeout(
      () => void this.poll().finally(() => this.schedulePoll()),
      this.client === null ? POLL_ALONE_MS : POLL_MS,
    );
    this.pollTimer.unref();
  }

  private async lookAround(): Promise<void> {
    const { client } = this;
    if (client === null || this.looking) return;
    this.looking = true;
    try {
      const { rows } = await client.query<{ present: boolean }>(OTHERS);
      if (client === this.client) this.alone = rows[0]?.present === false;
    } catch (error) {
      this.alone = false;
      this.replaceIfSilent(client, error);
    } finally {
      this.looking = false;
    }
  }

  private replaceIfSilent(client: pg.Client, error: unknown): void {
    if (isOverdue(error)) this.lost(client);
  }

  private async poll(): Promise<void> {
    // Beside the poll, which must not wait for a connection that is silent.
    void this.lookAround();
    if (this.watched.size === 0) return;
    const watches = [...this.watched.values()];
    const rows = await this.database
      .run<{ tenant_id: string; task_id: string; version: number }>(
        {
          name: 'poll_versions',
          text: `select t.tenant_id, t.task_id, t.version
            from unnest($1::text[], $2::text[], $3::integer[]) as w (tenant_id, task_id, seen)
            join task t on t.tenant_id = w.tenant_id and t.task_id = w.task_id
            where t.version > w.seen`,
        },
        [watches.map((w) => w.tenantId), watches.map((w) => w.taskId), watches.map((w) => w.seen)],
      )
      .catch(() => []);
    for (const row of rows) this.emit({ tenantId: row.tenant_id, taskId: row.task_id, version: row.version });
  }
}

/** Says goodbye, and waits no longer for whoever does not answer. */
async function hangUp(client: pg.Client): Promise<void> {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  const cut = setTimeout(() => connection.stream.destroy(), GOODBYE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(cut);
}

/** Of another version, or of another program on the channel: whoever cannot read it must not end for it. */
function wireOf(payload: string): [string, ...Wire[]] {
  try {
    const wire = JSON.parse(payload) as unknown;
    if (Array.isArray(wire) && wire.slice(1).every(Array.isArray)) return wire as [string, ...Wire[]];
  } catch {
    // No JSON.
  }
  return [''];
}

const keyOf = (tenantId: string, taskId: string) => `${tenantId}\n${taskId}`;

function payloads(instance: string, changes: readonly Wire[]): string[] {
  const full: string[] = [];
  let texts: string[] = [];
  let bytes = 0;
  const close = () => {
    if (texts.length > 0) full.push(`[${JSON.stringify(instance)},${texts.join(',')}]`);
    texts = [];
    bytes = 0;
  };
  for (const change of changes) {
    const text = JSON.stringify(change);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > PAYLOAD_BYTES - 64) close();
    texts.push(text);
    bytes += size;
  }
  close();
  return full;
}
