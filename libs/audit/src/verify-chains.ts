import { type ChainBreak, ChainVerifier } from './chain-verifier.js';
import type { Database, NamedStatement } from '@app/storage';
import { EVENT_COLUMNS } from '@app/event-log';
import type { StoredEvent } from '@app/storage';

/** Which streams to verify; absent: all. */
export interface StreamScope {
  readonly tenantId?: string;
  readonly taskId?: string;
}

/** Where the record is not what was written. */
export interface StreamBreak {
  readonly tenantId: string;
  readonly taskId: string;
  /** The first version that the break concerns. */
  readonly version: number;
  /**
   * Besides the breaks of a chain: the task row names another head than the stream has (`other-head`), there is no task
   * row (`no-task-row`), or there are rows of a task and no events at all (`missing-stream`).
   */
  readonly reason: ChainBreak['reason'] | 'other-head' | 'no-task-row' | 'missing-stream';
}

/** How far a verification has come, and what this step of it has found. */
export interface VerifiedPage {
  /** Of this step. */
  readonly events: number;
  readonly streams: number;
  readonly breaks: readonly StreamBreak[];
}

type VerifiedRow = StoredEvent & { head_version: number | null; head_hash: Buffer | null };

const PAGE_EVENTS = 1_000;
const PAGE_BYTES = 8 * 1024 * 1024;

/** Along the primary key, a page at a time; the task row comes along, as it was in the same snapshot. */
const READ_CHAINS: NamedStatement = {
  name: 'read_chains',
  text: `select ${EVENT_COLUMNS}, t.version as head_version, t.head_hash
    from (
      select tenant_id, task_id, version, row_number() over place as nth,
        sum(coalesce(octet_length(content), 0)) over place as total
      from (
        select tenant_id, task_id, version, content from event
        where (tenant_id, task_id, version) > ($1, $2, $3)
          and ($4::text is null or tenant_id = $4) and ($5::text is null or task_id = $5)
        order by tenant_id, task_id, version limit $6
      ) page
      window place as (order by tenant_id, task_id, version)
    ) p
    join event e on e.tenant_id = p.tenant_id and e.task_id = p.task_id and e.version = p.version
    left join task t on t.tenant_id = e.tenant_id and t.task_id = e.task_id
    where p.nth = 1 or p.total <= $7
    order by e.tenant_id, e.task_id, e.version`,
};

/** Tasks that something else knows of, and that have no events. */
const READ_MISSING_STREAMS: NamedStatement = {
  name: 'read_missing_streams',
  text: `select known.tenant_id, known.task_id
    from (
      select tenant_id, task_id from task union select tenant_id, task_id from task_key
      union select tenant_id, task_id from message_receipt union select tenant_id, task_id from run_queue
      union select tenant_id, task_id from message union select tenant_id, task_id from artifact_chunk
    ) known
    where ($1::text is null or known.tenant_id = $1) and ($2::text is null or known.task_id = $2)
      and not exists (select from event e where e.tenant_id = known.tenant_id and e.task_id = known.task_id)
    order by known.tenant_id, known.task_id`,
};

/**
 * Follows the hash chain of every stream in scope from its first event to the head that the task row names. Memory stays
 * flat, nothing is decrypted, and no key is needed. Streams may grow meanwhile.
 */
export async function* verifyChains(database: Database, scope: StreamScope = {}): AsyncGenerator<VerifiedPage> {
  const { tenantId = null, taskId = null } = scope;
  let stream: OpenStream | null = null;
  let last: [tenantId: string, taskId: string, version: number] = [tenantId ?? '', '', 0];
  for (;;) {
    const rows = await database.run<VerifiedRow>(READ_CHAINS, [...last, tenantId, taskId, PAGE_EVENTS, PAGE_BYTES]);
    const breaks: StreamBreak[] = [];
    let streams = 0;
    for (const row of rows) {
      if (stream === null || !stream.has(row)) {
        breaks.push(...(stream?.end() ?? []));
        stream = new OpenStream();
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

/** About how many events there are in scope, for whoever wants to show progress. */
export async function countEvents(database: Database, { tenantId, taskId }: StreamScope = {}): Promise<number> {
  const [row] = await database.run<{ count: string }>(
    {
      name: 'count_events',
      text: `select count(*) as count from event
        where ($1::text is null or tenant_id = $1) and ($2::text is null or task_id = $2)`,
    },
    [tenantId ?? null, taskId ?? null],
  );
  return Number(row!.count);
}

/** One stream while its pages come in. */
class OpenStream {
  private readonly chain = new ChainVerifier();
  private last: VerifiedRow | null = null;

  has({ tenant_id: tenantId, task_id: taskId }: VerifiedRow): boolean {
    return this.last !== null && this.last.tenant_id === tenantId && this.last.task_id === taskId;
  }

  check(row: VerifiedRow): StreamBreak[] {
    this.last = row;
    const broken = this.chain.check(row);
    return broken === null ? [] : [broken];
  }

  /** The last event was read together with the task row, so both are of one moment. */
  end(): StreamBreak[] {
    const { tenant_id: tenantId, task_id: taskId, version, hash, head_version: head, head_hash: headHash } = this.last!;
    const at = (reason: StreamBreak['reason'], where = version): StreamBreak[] => [
      { tenantId, taskId, version: where, reason },
    ];
    if (head === null || headHash === null) return at('no-task-row');
    if (head > version) return at('missing-event', version + 1);
    return head === version && headHash.equals(hash) ? [] : at('other-head');
  }
}
