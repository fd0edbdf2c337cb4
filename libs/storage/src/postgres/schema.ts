import type { ColumnType, Generated } from 'kysely';

/** The tables, for Kysely. The comments in `migrations/` describe the columns. */
export interface Schema {
  server_state: {
    only_row: Generated<boolean>;
    secret_fingerprint: string;
    epoch: number;
    system_identifier: string;
  };
  server_key: { purpose: string; key_id: string; wrapped_key: Buffer };
  event: EventTable;
  task_key: { tenant_id: string; task_id: string; key_id: string; wrapped_key: Buffer };
  task: {
    tenant_id: string;
    task_id: string;
    context_id: string;
    owner: string;
    ring: string;
    agent: string;
    status: string;
    version: number;
    head_hash: Buffer;
    status_at: Date;
    state: ColumnType<unknown, string, string>;
  };
  context: { tenant_id: string; owner: string; context_id: string; ring: string };
  message_receipt: {
    tenant_id: string;
    subject: string;
    message_id: string;
    task_id: string;
    fingerprint: Buffer;
  };
  message: { tenant_id: string; task_id: string; version: number; role: string; bytes: number };
  artifact_chunk: {
    tenant_id: string;
    task_id: string;
    version: number;
    run_id: string;
    artifact_id: string;
    started_version: number;
    parts: number;
    bytes: number;
  };
  run_queue: {
    tenant_id: string;
    task_id: string;
    agent: string;
    ring: string;
    dispatcher_generation: number;
    lease_generation: number;
    attempts: number;
    queued_at: Date;
    not_before: Date | null;
    run_id: string | null;
    worker: string | null;
    lease_expires_at: Date | null;
    cancel_deadline: Date | null;
  };
  push_config: {
    tenant_id: string;
    task_id: string;
    subject: string;
    config_id: string;
    protocol_version: string;
    sealed_target: Buffer;
    origin_key: Buffer;
    url_key: Buffer;
    next_attempt_at: Date | null;
    lease: string | null;
  };
  push_delivery: {
    tenant_id: string;
    task_id: string;
    subject: string;
    config_id: string;
    version: number;
    state: ColumnType<'pending' | 'delivered' | 'dead', string, string>;
    attempts: number;
    created_at: Date;
    last_attempt_at: Date | null;
    delivered_at: Date | null;
    last_error: string | null;
  };
  api_key: {
    tenant_id: string;
    key_id: string;
    token_hash: Buffer;
    subject: string;
    role: 'member' | 'admin' | 'worker' | 'metrics';
    rings: string[];
    agents: string[];
    created_at: Date;
    expires_at: Date | null;
    revoked_at: Date | null;
  };
  audit_entry: {
    tenant_id: string;
    entry_id: string;
    type: string;
    facts: ColumnType<unknown, string, never>;
    actor_subject: string;
    actor_role: string;
    recorded_at: Date;
    hash: Buffer;
    epoch: number;
    position: Generated<string>;
    transaction_id: Generated<string>;
  };
}

export interface EventTable {
  tenant_id: string;
  task_id: string;
  version: number;
  event_id: string;
  type: string;
  schema_version: number;
  /** Select it as `facts::text` to get the text that was hashed. */
  facts: unknown;
  content: Buffer | null;
  actor_subject: string;
  actor_role: string;
  command_id: string;
  command_fingerprint: Buffer;
  causation_id: string | null;
  correlation_id: string;
  protocol_version: string | null;
  trace_parent: string | null;
  trace_state: string | null;
  recorded_at: Date;
  hash_version: number;
  previous_hash: Buffer;
  hash: Buffer;
  epoch: number;
  position: Generated<string>;
  transaction_id: Generated<string>;
}

/** An event in the form in which it is read: with the facts as text. */
export type StoredEvent = Omit<EventTable, 'facts' | 'position' | 'transaction_id'> & {
  facts: string;
  position: string;
  transaction_id: string;
};
