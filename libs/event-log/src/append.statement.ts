import { EVENT_SCHEMA_VERSIONS } from '@app/domain';
import type { NamedStatement, TaskKey } from '@app/storage';
import type { Append, AppendResult } from './append.js';
import { GENESIS_HASH, HASH_VERSION } from './hash-chain.js';

/** An append with its events in the form in which they are stored. */
export interface EncodedAppend {
  readonly append: Append;
  /** The expected version. 0: the stream is new. */
  readonly expected: number;
  /** The key of a new task; null for an existing one. */
  readonly newKey: TaskKey | null;
  readonly epoch: number;
  readonly facts: readonly string[];
  readonly contents: readonly (Buffer | null)[];
  readonly hashes: readonly Buffer[];
  /** JSON; null if the task has no webhooks. */
  readonly pushes: string | null;
}

/** The result of `append_events`. */
export interface AppendedRow {
  readonly outcome: AppendResult['outcome'];
  /** Set if the outcome is `received`. */
  readonly receipt_task: string | null;
  /** Set if the outcome is `received` or `recorded`. */
  readonly recorded_fingerprint: Buffer | null;
}

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly value: (encoded: EncodedAppend) => unknown;
}

/**
 * Returns an array as the text that Postgres reads, for elements that need no quotes: ids, names and numbers. The driver would
 * search each of them for characters to escape.
 */
const plainArray = (elements: readonly (string | number | null)[]): string =>
  `{${elements.map((element) => element ?? 'NULL').join(',')}}`;

/** Returns an argument that reads a property of the append. */
const argument = (name: string, type: string, value: Argument['value']): Argument => ({ name, type, value });

/**
 * The arguments of `append_events`. The statements and their values are built from this list only, so the order matters to
 * nothing else.
 */
const ARGUMENTS: readonly Argument[] = [
  argument('p_tenant', 'text', ({ append }) => append.tenantId),
  argument('p_task', 'uuid', ({ append }) => append.taskId),
  argument('p_expected', 'integer', ({ expected }) => expected),
  argument('p_fence_run', 'text', ({ append }) => append.fence?.runId ?? null),
  argument('p_fence_lease', 'integer', ({ append }) => append.fence?.leaseGeneration ?? null),
  argument('p_fence_dispatcher', 'integer', ({ append }) => append.fence?.dispatcherGeneration ?? null),
  argument('p_receipt_subject', 'text', ({ append }) => append.receipt?.subject ?? null),
  argument('p_receipt_message', 'text', ({ append }) => append.receipt?.messageId ?? null),
  argument('p_context', 'text', ({ append }) => append.state.contextId),
  argument('p_owner', 'text', ({ append }) => append.state.owner),
  argument('p_ring', 'text', ({ append }) => append.state.ring),
  argument('p_agent', 'text', ({ append }) => append.state.agent),
  argument('p_key_id', 'text', ({ newKey }) => newKey?.keyId ?? null),
  argument('p_wrapped_key', 'bytea', ({ newKey }) => newKey?.wrapped ?? null),
  argument('p_actor_subject', 'text', ({ append }) => append.actor.subject),
  argument('p_actor_role', 'text', ({ append }) => append.actor.role),
  argument('p_command', 'text', ({ append }) => append.commandId),
  argument('p_fingerprint', 'bytea', ({ append }) => append.fingerprint),
  argument('p_protocol', 'text', ({ append }) => append.protocolVersion ?? null),
  argument('p_trace_parent', 'text', ({ append }) => append.trace?.parent ?? null),
  argument('p_trace_state', 'text', ({ append }) => append.trace?.state ?? null),
  argument('p_recorded_at', 'timestamptz', ({ append }) => append.recordedAt),
  argument('p_epoch', 'integer', ({ epoch }) => epoch),
  argument('p_event_ids', 'uuid[]', ({ append }) => plainArray(append.events.map(({ eventId }) => eventId))),
  argument('p_types', 'text[]', ({ append }) => plainArray(append.events.map(({ type }) => type))),
  argument('p_schemas', 'smallint[]', ({ append }) =>
    plainArray(append.events.map(({ type }) => EVENT_SCHEMA_VERSIONS[type])),
  ),
  argument('p_facts', 'text[]', ({ facts }) => facts),
  argument('p_contents', 'bytea[]', ({ contents }) => contents),
  argument('p_causes', 'uuid[]', ({ append }) => plainArray(append.causes)),
  argument('p_hash_version', 'smallint', () => HASH_VERSION),
  argument('p_previous_hash', 'bytea', ({ append }) => append.head?.hash ?? GENESIS_HASH),
  argument('p_hashes', 'bytea[]', ({ hashes }) => hashes),
  argument('p_status', 'text', ({ append }) => append.state.status),
  argument('p_status_at', 'timestamptz', ({ append }) => append.state.statusAt),
  argument('p_state', 'text', ({ append }) => JSON.stringify(append.state)),
  argument('p_rows', 'jsonb', ({ append }) => JSON.stringify(append.rows)),
  argument('p_lease_ms', 'integer', ({ append }) => append.leaseMs),
  argument('p_pushes', 'jsonb', ({ pushes }) => pushes),
];

/** Returns the values of the statements for one append. */
export const appendValues = (encoded: EncodedAppend): unknown[] => ARGUMENTS.map(({ value }) => value(encoded));

/** Returns the statement for a number of appends, whose values follow each other. */
export function appendStatement(appends: number): NamedStatement {
  const branches = Array.from({ length: appends }, (_, nth) => {
    const first = nth * ARGUMENTS.length + 1;
    const list = ARGUMENTS.map(({ name, type }, index) => `${name} => $${first + index}::${type}`).join(', ');
    return `select ${nth} as nth, a.* from append_events(${list}) a`;
  });
  const [one] = branches;
  return {
    name: `append_events_${appends}`,
    text: appends === 1 ? one! : `select * from (${branches.join(' union all ')}) appends order by nth`,
  };
}
