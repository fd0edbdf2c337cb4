import { eventHash, GENESIS_HASH, isKnownHashVersion, packAppendColumns } from '@app/event-log';
import type { StoredEvent } from '@app/storage';

/** An event at which a stream differs from what was written, and the kind of difference. */
export interface ChainBreak {
  readonly tenantId: string;
  readonly taskId: string;
  readonly version: number;
  /** `unknown-hash-version`: a newer version of Acta recorded the event, or its column was changed. */
  readonly reason: 'missing-event' | 'broken-link' | 'altered-event' | 'unknown-hash-version';
}

/** Verifies the hash chain of one stream, event by event. Its memory is constant. */
export class ChainVerifier {
  private previousHash: Buffer = GENESIS_HASH;
  private version = 0;

  /** Checks the next event of the stream. Null if it is valid. */
  check(event: StoredEvent): ChainBreak | null {
    const breakOf = (reason: ChainBreak['reason'], version = event.version): ChainBreak => ({
      tenantId: event.tenant_id,
      taskId: event.task_id,
      version,
      reason,
    });
    const expectedVersion = this.version + 1;
    const previous = this.previousHash;
    this.version = event.version;
    this.previousHash = event.hash;
    if (event.version !== expectedVersion) return breakOf('missing-event', expectedVersion);
    if (!event.previous_hash.equals(previous)) return breakOf('broken-link');
    if (!isKnownHashVersion(event.hash_version)) return breakOf('unknown-hash-version');
    const packedAppend = packAppendColumns({
      tenantId: event.tenant_id,
      taskId: event.task_id,
      actorSubject: event.actor_subject,
      actorRole: event.actor_role,
      commandId: event.command_id,
      commandFingerprint: event.command_fingerprint,
      correlationId: event.correlation_id,
      protocolVersion: event.protocol_version,
      traceParent: event.trace_parent,
      traceState: event.trace_state,
      recordedAt: event.recorded_at.toISOString(),
    });
    const hash = eventHash(event.hash_version, previous, packedAppend, {
      version: event.version,
      eventId: event.event_id,
      type: event.type,
      schemaVersion: event.schema_version,
      causationId: event.causation_id,
      facts: event.facts,
      content: event.content,
    });
    return hash.equals(event.hash) ? null : breakOf('altered-event');
  }
}
