import type { StoredEvent } from '@app/storage';
import { eventHash, GENESIS_HASH } from '@app/event-log';

/** Where a stream stops being what was written, and in which way. */
export interface ChainBreak {
  readonly tenantId: string;
  readonly taskId: string;
  readonly version: number;
  readonly reason: 'missing-event' | 'broken-link' | 'altered-event';
}

/** Follows one stream event by event; memory does not grow with its length. */
export class ChainVerifier {
  private previous: Buffer = GENESIS_HASH;
  private version = 0;

  /** Checks the next event of the stream; null when it is sound. */
  check(event: StoredEvent): ChainBreak | null {
    const at = (reason: ChainBreak['reason'], version = event.version): ChainBreak => ({
      tenantId: event.tenant_id,
      taskId: event.task_id,
      version,
      reason,
    });
    const expected = this.version + 1;
    const previous = this.previous;
    this.version = event.version;
    this.previous = event.hash;
    if (event.version !== expected) return at('missing-event', expected);
    if (!event.previous_hash.equals(previous)) return at('broken-link');
    const hash = eventHash(previous, {
      tenantId: event.tenant_id,
      taskId: event.task_id,
      version: event.version,
      eventId: event.event_id,
      type: event.type,
      schemaVersion: event.schema_version,
      facts: event.facts,
      content: event.content,
      actorSubject: event.actor_subject,
      actorRole: event.actor_role,
      commandId: event.command_id,
      commandFingerprint: event.command_fingerprint,
      causationId: event.causation_id,
      correlationId: event.correlation_id,
      protocolVersion: event.protocol_version,
      traceParent: event.trace_parent,
      recordedAt: event.recorded_at.toISOString(),
    });
    return hash.equals(event.hash) ? null : at('altered-event');
  }
}
