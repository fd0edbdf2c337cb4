import type { ApiKeyRole } from '@app/access';
import { ApiKeys, AuditTrail } from '@app/access';
import { ChainVerifier, Database, ServerSecret, type StoredEvent } from '@app/storage';
import { SECRET } from '../processes/start-server.js';

const TERMINAL = ['TaskCompleted', 'TaskFailed', 'TaskRejected', 'TaskCanceled', 'ReplySent'];
/** What may grow without a client having stored anything. */
const ASIDE = ['api_key', 'audit_entry', 'server_state', 'migration'];

export interface KeyRequest {
  readonly tenant?: string;
  readonly subject: string;
  readonly rings?: readonly string[];
  readonly role?: ApiKeyRole;
  /** Of a worker. */
  readonly agents?: readonly string[];
  readonly expiresAt?: Date;
}

/** What the database of a server holds, seen past the server. */
export class DatabaseView {
  private readonly database: Database;
  private counting: string | null = null;

  constructor(databaseUrl: string) {
    this.database = new Database(databaseUrl, { maxConnections: 2 });
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** The token of a new API key, made as `acta keys create` makes it. */
  async createKey(request: KeyRequest) {
    const { tenant = 'default', subject, rings = ['ring:default'], role = 'member', agents = [], expiresAt } = request;
    await this.database.claimState(new ServerSecret(SECRET));
    const keys = new ApiKeys(this.database, new AuditTrail(this.database));
    const operator = { tenantId: tenant, subject: 'tests', role: 'operator', rings: [], agents: [] } as const;
    const { token } = await keys.create(operator, { tenantId: tenant, subject, role, rings, agents, expiresAt });
    return token;
  }

  /** As `acta keys revoke` does it: the server finds out by itself. */
  async revokeKey(token: string): Promise<void> {
    const keys = new ApiKeys(this.database, new AuditTrail(this.database));
    const operator = { tenantId: 'default', subject: 'tests', role: 'operator', rings: [], agents: [] } as const;
    await keys.revoke(operator, (await keys.find(token))!.keyId);
  }

  /** Table → rows, of every table that a client's request could fill. */
  async rowCounts(): Promise<Record<string, number>> {
    this.counting ??= await this.countingStatement();
    const { rows } = await this.database.pool.query<Record<string, string>>(this.counting);
    return Object.fromEntries(Object.entries(rows[0]!).map(([table, count]) => [table, Number(count)]));
  }

  /** Task id → its events in order. */
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

  /** Types of a task's events, in order. */
  async eventTypes(taskId: string): Promise<string[]> {
    return ((await this.streams()).get(taskId) ?? []).map((event) => event.type);
  }

  private async countingStatement(): Promise<string> {
    const { rows } = await this.database.pool.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    );
    const counted = rows.filter(({ name }) => !ASIDE.some((aside) => name.includes(aside)));
    return `select ${counted.map(({ name }) => `(select count(*) from ${name}) as ${name}`).join(', ')}`;
  }
}

/** Whatever a stream's hash chain finds wrong. */
export function breaksOf(stream: readonly StoredEvent[]) {
  const verifier = new ChainVerifier();
  return stream.flatMap((event) => verifier.check(event) ?? []);
}

export const terminalEventsOf = (stream: readonly StoredEvent[]): string[] =>
  stream.map((event) => event.type).filter((type) => TERMINAL.includes(type));
