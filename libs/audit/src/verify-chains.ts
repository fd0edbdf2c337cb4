import { NIL_UUID } from '@app/domain';
import { EVENT_COLUMNS } from '@app/event-log';
import type { Database, NamedStatement, StoredEvent } from '@app/storage';
import { type ChainBreak, ChainVerifier } from './chain-verifier.js';

/** The streams to verify. Absent: all. */
export interface VerificationScope {
  readonly tenantId?: string;
  readonly taskId?: string;
}

/** A version of a stream at which the event log differs from what was written. */
export interface EventLogBreak {
  readonly tenantId: string;
  readonly taskId: string;
  /** The first version that the break concerns. */
  readonly version: number;
  /**
   * In addition to the breaks of a chain: `other-head` if the task row has a different head than the stream,
   * `no-task-row` if there is no task row, and `missing-stream` if a different table contains the task, which has no
   * events.
   */
  readonly reason: ChainBreak['reason'] | 'other-head' | 'no-task-row' | 'missing-stream';
}

/** The result of one step of a verification. */
export interface VerifiedPage {
  /** The number of events in this step. */
  readonly events: number;
  /** The number of streams that start in this step. */
  readonly streams: number;
  readonly breaks: readonly EventLogBreak[];
}

type VerifiedRow = StoredEvent & { head_version: number | null; head_hash: Buffer | null };

const MAX_PAGE_EVENTS = 1_000;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * Selects the next page of events in the order of the primary key, with the task row of the same snapshot. A page has
 * at least one event, and otherwise at most `MAX_PAGE_BYTES` of content.
 */
const READ_CHAINS: NamedStatement = {
  name: 'read_chains',
  text: `select ${EVENT_COLUMNS}, t.version as head_version, t.head_hash
    from (
      select tenant_id, task_id, version, row_number() over by_key as nth,
        sum(coalesce(octet_length(content), 0)) over by_key as total
      from (
        select tenant_id, task_id, version, content from event
        where (tenant_id, task_id, version) > ($1, $2, $3)
          and ($4::text is null or tenant_id = $4) and ($5::uuid is null or task_id = $5)
        order by tenant_id, task_id, version limit $6
      ) page
      window by_key as (order by tenant_id, task_id, version)
    ) p
    join event e on e.tenant_id = p.tenant_id and e.task_id = p.task_id and e.version = p.version
    left join task t on t.tenant_id = e.tenant_id and t.task_id = e.task_id
    where p.nth = 1 or p.total <= $7
    order by e.tenant_id, e.task_id, e.version`,
};

/** Selects the tasks that other tables contain, and that have no events. */
const READ_MISSING_STREAMS: NamedStatement = {
  name: 'read_missing_streams',
  text: `select known.tenant_id, known.task_id
    from (
      select tenant_id, task_id from task union select tenant_id, task_id from task_key
      union select tenant_id, task_id from message_receipt union select tenant_id, task_id from run_queue
      union select tenant_id, task_id from message union select tenant_id, task_id from artifact_chunk
    ) known
    where ($1::text is null or known.tenant_id = $1) and ($2::uuid is null or known.task_id = $2)
      and not exists (select from event e where e.tenant_id = known.tenant_id and e.task_id = known.task_id)
    order by known.tenant_id, known.task_id`,
};

/**
 * Verifies the hash chain of every stream in scope, from its first event to the head in the task row. It uses constant
 * memory and needs no key, because it decrypts nothing. Streams can grow in the meantime.
 */
export async function* verifyChains(database: Database, scope: VerificationScope = {}): AsyncGenerator<VerifiedPage> {
  const { tenantId = null, taskId = null } = scope;
  let stream: EventStreamVerifier | null = null;
  let last: [tenantId: string, taskId: string, version: number] = [tenantId ?? '', NIL_UUID, 0];
  for (;;) {
    const rows = await database.run<VerifiedRow>(READ_CHAINS, [
      ...last,
      tenantId,
      taskId,
      MAX_PAGE_EVENTS,
      MAX_PAGE_BYTES,
    ]);
    const breaks: EventLogBreak[] = [];
    let streams = 0;
    for (const row of rows) {
      if (stream === null || !stream.includes(row)) {
        breaks.push(...(stream?.end() ?? []));
        stream = new EventStreamVerifier();
        streams += 1;
      }
      breaks.push(...stream.check(row));
    }
    const end = rows.at(-1);
    if (end === undefined) {
      breaks.push(...(stream?.end() ?? []));
      const missing = await database.run<{ tenant_id: string; task_id: string }>(READ_MISSING_STREAMS, [
        tenantId,
        taskId,
      ]);
      for (const row of missing) {
        breaks.push({ tenantId: row.tenant_id, taskId: row.task_id, version: 1, reason: 'missing-stream' });
      }
      yield { events: 0, streams, breaks };
      return;
    }
    last = [end.tenant_id, end.task_id, end.version];
    yield { events: rows.length, streams, breaks };
  }
}

/** Returns the number of events in scope, to show the progress of a verification. */
export async function countEvents(database: Database, { tenantId, taskId }: VerificationScope = {}): Promise<number> {
  const [row] = await database.run<{ count: string }>(
    {
      name: 'count_events',
      text: `select count(*) as count from event
        where ($1::text is null or tenant_id = $1) and ($2::uuid is null or task_id = $2)`,
    },
    [tenantId ?? null, taskId ?? null],
  );
  return Number(row!.count);
}

/** Verifies one stream, whose events can be on several pages. */
class EventStreamVerifier {
  private readonly chain = new ChainVerifier();
  private last: VerifiedRow | null = null;

  includes({ tenant_id: tenantId, task_id: taskId }: VerifiedRow): boolean {
    return this.last !== null && this.last.tenant_id === tenantId && this.last.task_id === taskId;
  }

  check(row: VerifiedRow): EventLogBreak[] {
    this.last = row;
    const broken = this.chain.check(row);
    return broken === null ? [] : [broken];
  }

  /** Compares the last event with the head in the task row. Both are from the same snapshot. */
  end(): EventLogBreak[] {
    const { tenant_id: tenantId, task_id: taskId, version, hash, head_version: head, head_hash: headHash } = this.last!;
    const breaksOf = (reason: EventLogBreak['reason'], breakVersion = version): EventLogBreak[] => [
      { tenantId, taskId, version: breakVersion, reason },
    ];
    if (head === null || headHash === null) return breaksOf('no-task-row');
    if (head > version) return breaksOf('missing-event', version + 1);
    return head === version && headHash.equals(hash) ? [] : breaksOf('other-head');
  }
}
