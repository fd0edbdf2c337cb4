import type { Actor, JsonObject, RecordedEvent, TaskView } from '@app/domain';
import { resolveView } from '../task/placeholder.js';

/** Encodes an event with its facts, content and actor, and the hashes that prove that it is unaltered. */
export function encodeEvent({
  event,
  stored,
  actor,
  unreadable,
}: {
  readonly event: RecordedEvent;
  readonly stored: {
    readonly event_id: string;
    readonly schema_version: number;
    readonly command_id: string;
    readonly causation_id: string | null;
    readonly protocol_version: string | null;
    readonly trace_parent: string | null;
    readonly trace_state: string | null;
    readonly previous_hash: Buffer;
    readonly hash: Buffer;
    readonly position: string;
  };
  readonly actor: Actor;
  readonly unreadable?: true;
}): JsonObject {
  const { type, version, recordedAt, facts, content } = event;
  return {
    version,
    type,
    recordedAt,
    actor: { ...actor },
    facts: { ...facts } as unknown as JsonObject,
    ...(content === undefined ? {} : { content: { ...content } as unknown as JsonObject }),
    ...(unreadable === undefined ? {} : { unreadable }),
    eventId: stored.event_id,
    schemaVersion: stored.schema_version,
    commandId: stored.command_id,
    causationId: stored.causation_id,
    protocolVersion: stored.protocol_version,
    traceParent: stored.trace_parent,
    traceState: stored.trace_state,
    previousHash: stored.previous_hash.toString('hex'),
    hash: stored.hash.toString('hex'),
    position: stored.position,
  };
}

/** Encodes a task with its complete state, in the names of the domain. */
export function encodeTask(view: TaskView): JsonObject {
  const { taskId, state, statusMessage, history, artifacts, truncated } = resolveView(view);
  const { run, clientMessages, ...facts } = state;
  return {
    id: taskId,
    ...(facts as unknown as JsonObject),
    clientMessages: clientMessages.count,
    run: run === null ? null : ({ ...run } as unknown as JsonObject),
    ...(statusMessage === undefined ? {} : { statusMessage: statusMessage as unknown as JsonObject }),
    history: history as unknown as JsonObject[],
    artifacts: artifacts as unknown as JsonObject[],
    ...(truncated === undefined ? {} : { truncated }),
  };
}
