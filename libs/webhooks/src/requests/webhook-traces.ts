import type { TraceContext } from '@app/domain';
import { Database, type NamedStatement } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

/** Tasks whose last trace context is kept, so that the next event of the task does not read the earlier ones again. */
const MAX_TASKS = 2_000;

/**
 * Selects the trace context at an event: its own, or that of the last request before it. An event of an agent or of Acta has no
 * request of its own. $1 tenant, $2 task, $3 version after which to look, $4 version of the event.
 */
const TRACE_OF_EVENT: NamedStatement = {
  name: 'trace_of_event',
  text: `select trace_parent, trace_state from event
    where tenant_id = $1 and task_id = $2 and version > $3 and version <= $4 and (trace_parent is not null
      or type in ('TaskSubmitted', 'MessageAccepted', 'TaskResumed', 'CancelRequested'))
    order by version desc limit 1`,
};

interface TraceAt {
  readonly version: number;
  readonly trace: TraceContext | null;
}

/** Finds the W3C trace context of the request that caused an event. */
@Injectable()
export class WebhookTraces {
  private readonly known = new LRUCache<string, TraceAt>({ max: MAX_TASKS });

  constructor(private readonly database: Database) {}

  /** Returns the trace context at a version of a task; null if the request had none. */
  async traceOf(
    { tenantId, taskId }: { readonly tenantId: string; readonly taskId: string },
    version: number,
  ): Promise<TraceContext | null> {
    const key = `${tenantId}\n${taskId}`;
    const kept = this.known.get(key);
    const from = kept !== undefined && kept.version <= version ? kept : { version: 0, trace: null };
    if (from.version === version) return from.trace;
    const [row] = await this.database.run<{ trace_parent: string | null; trace_state: string | null }>(TRACE_OF_EVENT, [
      tenantId,
      taskId,
      from.version,
      version,
    ]);
    const trace = row === undefined ? from.trace : contextOf(row.trace_parent, row.trace_state);
    this.known.set(key, { version, trace });
    return trace;
  }
}

function contextOf(parent: string | null, state: string | null): TraceContext | null {
  if (parent === null) return null;
  return state === null ? { parent } : { parent, state };
}
