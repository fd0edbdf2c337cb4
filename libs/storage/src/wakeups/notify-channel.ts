import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { ConnectionConfig, NamedStatement } from '../postgres/database.js';
import { isQueryTimeout } from '../postgres/sql-state.js';
import {
  decodePayload,
  encodePresence,
  encodePayloads,
  taskKeyOf,
  type TaskNotification,
} from './notification-payload.js';

const CHANNEL = 'acta_task_changed';
const APPLICATION_NAME = 'acta-wakeups';
const COALESCE_MS = 5;
const RECONNECT_DELAY_MS = 1_000;
const QUERY_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 1_000;

const NOTIFY: NamedStatement = { name: 'notify', text: 'select pg_notify($1, $2)' };
/** Postgres can hide the application names of other roles' connections. Such a connection counts as a peer. */
const HAS_PEERS: NamedStatement = {
  name: 'other_listeners',
  text: `select exists (select 1 from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type is distinct from 'autovacuum worker'
      and (application_name = '${APPLICATION_NAME}' or application_name is null)) as present`,
};

/**
 * Sends and receives changes of tasks between the processes on one database, over one connection that uses LISTEN and
 * NOTIFY. It coalesces what it sends. (A NOTIFY inside each append would take a lock that serializes all commits of the
 * cluster.) Notifications can be lost: the connection can break, and nothing is sent while no other process listens.
 */
export class NotifyChannel {
  private readonly sender = randomUUID();
  private pending = new Map<string, TaskNotification>();
  /** The connection, once it listens. */
  private listener: pg.Client | null = null;
  /** The connection that listens or that is being opened. */
  private current: pg.Client | null = null;
  private flushTimer: NodeJS.Timeout | null = null;
  private flushedAt = 0;
  private flushing: Promise<void> = Promise.resolve();
  private reconnectTimer: NodeJS.Timeout | null = null;
  /** No other process listens. Without this check, every NOTIFY would be a transaction without a receiver. */
  private hasNoPeers = false;
  private isProbing = false;
  private isClosed = false;

  constructor(
    private readonly connection: ConnectionConfig,
    private readonly onNotification: (notification: TaskNotification) => void,
  ) {}

  get isListening(): boolean {
    return this.listener !== null;
  }

  /** Connects and listens. If that fails, it tries again until `close`. */
  async connect(): Promise<void> {
    if (this.isClosed) return;
    const { connection } = this;
    const client = new pg.Client({
      ...(typeof connection === 'string' ? { connectionString: connection } : connection),
      application_name: APPLICATION_NAME,
      keepAlive: true,
      connectionTimeoutMillis: QUERY_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
    });
    this.current = client;
    client.on('error', () => this.reconnectAfter(client));
    client.on('end', () => this.reconnectAfter(client));
    client.on('notification', ({ payload }) => this.receive(payload ?? ''));
    try {
      await client.connect();
      // A notification need not wait for the disk.
      await client.query('set synchronous_commit = off; set search_path = pg_catalog, pg_temp');
      await client.query(`listen ${CHANNEL}`);
      // Processes that found no peers start to send.
      await client.query(NOTIFY.text, [CHANNEL, encodePresence(this.sender)]);
      if (this.current !== client) return;
      this.listener = client;
      this.hasNoPeers = false;
    } catch {
      this.reconnectAfter(client);
    }
  }

  /** Sends a notification after at most 5 ms. Several notifications of one task within that time are sent as one. */
  send(notification: TaskNotification): void {
    const { tenantId, taskId, version, queuedAgent, hasWebhookDeliveries } = notification;
    const key = taskKeyOf(notification);
    const earlier = this.pending.get(key);
    this.pending.set(key, {
      tenantId,
      taskId,
      version,
      queuedAgent: queuedAgent ?? earlier?.queuedAgent,
      hasWebhookDeliveries: hasWebhookDeliveries === true || earlier?.hasWebhookDeliveries === true,
    });
    const delayMs = Math.max(0, this.flushedAt + COALESCE_MS - Date.now());
    this.flushTimer ??= setTimeout(() => void this.flush(), delayMs);
  }

  /** Checks whether other processes listen. Its query also detects a connection that no longer responds. */
  async probePeers(): Promise<void> {
    const { listener } = this;
    if (listener === null || this.isProbing) return;
    this.isProbing = true;
    try {
      const { rows } = await listener.query<{ present: boolean }>(HAS_PEERS);
      if (listener === this.listener) this.hasNoPeers = rows[0]?.present === false;
    } catch (error) {
      this.hasNoPeers = false;
      this.reconnectIfTimedOut(listener, error);
    } finally {
      this.isProbing = false;
    }
  }

  /** Sends the pending notifications and closes the connection. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const timer of [this.flushTimer, this.reconnectTimer]) if (timer !== null) clearTimeout(timer);
    await this.flush();
    const { current } = this;
    this.current = this.listener = null;
    if (current !== null) await closeGracefully(current);
  }

  /** Flushes run one after the other. Notifications that arrive during a flush are sent by the next. */
  private flush(): Promise<void> {
    this.flushTimer = null;
    this.flushedAt = Date.now();
    this.flushing = this.flushing.then(async () => {
      const { listener } = this;
      const notifications = [...this.pending.values()];
      this.pending = new Map();
      if (listener === null || notifications.length === 0 || this.hasNoPeers) return;
      for (const payload of encodePayloads(this.sender, notifications)) {
        // A broken connection emits `error`, and the other processes poll.
        await listener
          .query({ ...NOTIFY, values: [CHANNEL, payload] })
          .catch((error: unknown) => this.reconnectIfTimedOut(listener, error));
      }
    });
    return this.flushing;
  }

  private receive(payload: string): void {
    const { sender, notifications } = decodePayload(payload);
    if (sender === this.sender) return;
    this.hasNoPeers = false;
    for (const notification of notifications) this.onNotification(notification);
  }

  private reconnectIfTimedOut(client: pg.Client, error: unknown): void {
    if (isQueryTimeout(error)) this.reconnectAfter(client);
  }

  /** Replaces a connection that failed. */
  private reconnectAfter(client: pg.Client): void {
    if (this.current !== client) return;
    this.current = this.listener = null;
    // The server can still regard it as open, for example when only LISTEN failed.
    void closeGracefully(client);
    if (this.isClosed) return;
    this.reconnectTimer = setTimeout(() => {
      this.reconnectTimer = null;
      void this.connect();
    }, RECONNECT_DELAY_MS);
  }
}

/** Ends a connection, and destroys its socket when the server does not end it in time. */
async function closeGracefully(client: pg.Client): Promise<void> {
  // The types of the driver omit `connection`.
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  const timer = setTimeout(() => connection.stream.destroy(), CLOSE_TIMEOUT_MS);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
