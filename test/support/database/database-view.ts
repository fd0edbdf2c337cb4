import { type ApiKey, ApiKeys, AuditLog } from '@app/access';
import { ChainVerifier } from '@app/audit';
import { Database, ServerSecret, type StoredEvent } from '@app/storage';
import { SECRET } from '../processes/start-server.js';

const TERMINAL = ['TaskCompleted', 'TaskFailed', 'TaskRejected', 'TaskCanceled', 'ReplySent'];
/** Parts of the names of tables that grow without a client request. */
const EXCLUDED_TABLES = ['api_key', 'audit_entry', 'server_state', 'migration'];

export interface KeyRequest {
  readonly tenant?: string;
  readonly subject: string;
  readonly rings?: readonly string[];
  readonly role?: ApiKey['role'];
  /** The agents that a key with the role `worker` may run. */
  readonly agents?: readonly string[];
  readonly expiresAt?: Date;
}

/** Reads and prepares the database of a server, without the server. */
export class DatabaseView {
  private readonly database: Database;
  private counting: string | null = null;

  constructor(databaseUrl: string) {
    this.database = new Database(databaseUrl, { maxConnections: 2 });
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** Creates an API key in the same way as `acta keys create` and returns its token. */
  async createKey(request: KeyRequest) {
    const { tenant = 'default', subject, rings = ['ring:default'], role = 'member', agents = [], expiresAt } = request;
    await this.database.initializeServerState(new ServerSecret(SECRET));
    const keys = new ApiKeys(this.database, new AuditLog(this.database));
    const operator = { tenantId: tenant, subject: 'tests', role: 'operator', rings: [], agents: [] } as const;
    const { token } = await keys.create(operator, { tenantId: tenant, subject, role, rings, agents, expiresAt });
    return token;
  }

  /** Revokes a key in the same way as `acta keys revoke`, without a notification of the server. */
  async revokeKey(token: string): Promise<void> {
    const keys = new ApiKeys(this.database, new AuditLog(this.database));
    const operator = { tenantId: 'default', subject: 'tests', role: 'operator', rings: [], agents: [] } as const;
    await keys.revoke(operator, (await keys.find(token))!.keyId);
  }

  /** Returns table → number of rows, for every table that a client request can fill. */
  async rowCounts(): Promise<Record<string, number>> {
    this.counting ??= await this.countingStatement();
    const { rows } = await this.database.pool.query<Record<string, string>>(this.counting);
    return Object.fromEntries(Object.entries(rows[0]!).map(([table, count]) => [table, Number(count)]));
  }

  /** Returns task id → its events in order. */
  async streams(): Promise<Map<string, StoredEvent[]>> {
    const { rows } = await this.database.pool.query<StoredEvent>(
      `select e.*, e.facts::text as facts from event e order by tenant_id, task_id, version`,
    );
    const streams = new Map<string, StoredEvent[]>();
    for (const event of rows) {
      const stream = streams.get(event.task_id) ?? [];
      streams.set(event.task_id, [...stream, event]);
    }
    return streams;
  }

  /** Returns the types of a task's events, in order. */
  async eventTypes(taskId: string): Promise<string[]> {
    return ((await this.streams()).get(taskId) ?? []).map((event) => event.type);
  }

  private async countingStatement(): Promise<string> {
    const { rows } = await this.database.pool.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    );
    const counted = rows.filter(({ name }) => !EXCLUDED_TABLES.some((part) => name.includes(part)));
    return `select ${counted.map(({ name }) => `(select count(*) from ${name}) as ${name}`).join(', ')}`;
  }
}

/** Returns the breaks in a stream's hash chain. */
export function breaksOf(stream: readonly StoredEvent[]) {
  const verifier = new ChainVerifier();
  return stream.flatMap((event) => verifier.check(event) ?? []);
}

export const terminalEventsOf = (stream: readonly StoredEvent[]): string[] =>
  stream.map((event) => event.type).filter((type) => TERMINAL.includes(type));
