import { type EventContent, formatCount, type Part, type RecordedEvent, textOf } from '@app/domain';
import type { StoredTaskEvent, TaskReader } from '@app/tasks';
import { pad, sanitizeForTerminal, shorten } from './terminal.js';

const PAGE = 100;
const SUMMARY_WIDTH = 72;
export const ACTOR_WIDTH = 28;

/** Reads the events of one task after a version, in order, page by page. */
export async function* readTimeline(
  reader: TaskReader,
  tenantId: string,
  taskId: string,
  after = 0,
): AsyncGenerator<StoredTaskEvent> {
  let last = after;
  for (;;) {
    const page = await reader.storedEvents(tenantId, taskId, last, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    last = page.at(-1)!.event.version;
  }
}

/** Formats the events of one task as lines: time, time since the previous event, version, type, actor, summary. */
export class TimelineFormat {
  private previousMs: number | null = null;

  /** Formats the next event. The column widths are fixed, because `acta tasks watch` prints each event as it arrives. */
  line({ stored, event }: StoredTaskEvent): string {
    const timeMs = Date.parse(event.recordedAt);
    const delta = this.previousMs === null ? '' : `+${formatSpan(timeMs - this.previousMs)}`;
    this.previousMs = timeMs;
    return [
      event.recordedAt.replace('T', ' '),
      delta.padStart(9),
      String(event.version).padStart(4),
      pad(event.type, 22),
      pad(shorten(describeActor(stored), ACTOR_WIDTH), ACTOR_WIDTH),
      summarize(event),
    ]
      .join('  ')
      .trimEnd();
  }
}

/** Returns who caused an event, on one line that is safe for a terminal. */
export function describeActor({ actor_subject: subject, actor_role: role }: StoredTaskEvent['stored']): string {
  return sanitizeForTerminal(role === subject ? subject : `${subject} (${role})`);
}

/** Formats a time span: `12 ms`, `1.5 s`, `3 m 04 s`, `2 h 05 m`, `3 d 04 h`. */
export function formatSpan(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const [seconds, minutes, hours] = [ms / 1_000, ms / 60_000, ms / 3_600_000];
  if (minutes < 60) return `${Math.floor(minutes)} m ${two(seconds % 60)} s`;
  if (hours < 24) return `${Math.floor(hours)} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** Summarizes the facts and content of an event on one line that is safe for a terminal. */
export function summarize(event: RecordedEvent): string {
  const content = event.missing === undefined ? summarizeContent(event.content) : `(${event.missing})`;
  const summary = [...summarizeFacts(event), ...(content === '' ? [] : [content])].join(', ');
  return shorten(sanitizeForTerminal(summary), SUMMARY_WIDTH);
}

function summarizeContent({ message, artifact }: EventContent = {}): string {
  if (message !== undefined) return quote(message.parts);
  return artifact === undefined
    ? ''
    : `${artifact.name === undefined ? '' : `${artifact.name}: `}${quote(artifact.parts)}`;
}

function quote(parts: readonly Part[]): string {
  const text = textOf({ parts: [...parts] });
  const others = parts.filter((part) => part.text === undefined).map(describePart);
  return [...(text === '' ? [] : [JSON.stringify(shorten(text, SUMMARY_WIDTH))]), ...others].join(' ');
}

function describePart({ raw, url, data, filename, mediaType }: Part): string {
  if (data !== undefined) return shorten(JSON.stringify(data), SUMMARY_WIDTH);
  const name = filename ?? mediaType ?? 'file';
  return raw === undefined
    ? `[${name} at ${url}]`
    : `[${name}, ${formatCount(Math.floor((raw.length * 3) / 4), 'byte')}]`;
}

function summarizeFacts(event: RecordedEvent): string[] {
  switch (event.type) {
    case 'TaskSubmitted':
      return [`agent ${event.facts.agent}`, event.facts.ring];
    case 'RunStarted':
      return [`attempt ${event.facts.attempt}`, `worker ${event.facts.worker}`];
    case 'ArtifactPublished':
      return [`${event.facts.append ? 'more of ' : ''}${event.facts.artifactId}`];
    case 'TaskFailed':
    case 'TaskCanceled':
      return [event.facts.reason];
    case 'RunLost': {
      const { reason, cause } = event.facts;
      return [reason, ...(cause === undefined ? [] : [cause])];
    }
    case 'CancelRequested':
      return [`until ${event.facts.deadline}`];
    case 'RunRetried':
      return [`attempt ${event.facts.attempt}`, startOf(event.facts.notBefore, event.recordedAt)];
    case 'MessageAccepted':
    case 'StatusReported':
    case 'InputRequested':
    case 'AuthorizationRequested':
    case 'TaskResumed':
    case 'ReplySent':
    case 'TaskCompleted':
    case 'TaskRejected':
      return [];
    case 'PushConfigSet':
      return [`webhook ${event.facts.configId}`, `of ${event.facts.subject}`];
    case 'PushConfigDeleted': {
      const { subject, configId, reason } = event.facts;
      return [`webhook ${configId}`, `of ${subject}`, ...(reason === undefined ? [] : [reason])];
    }
  }
}

/** A retry without a wait has no time, or the time at which its run was lost. */
const startOf = (notBefore: string | null, recordedAt: string): string =>
  notBefore === null || notBefore <= recordedAt ? 'immediately' : `not before ${notBefore}`;

/** Returns the machine-readable form of an event, which scripts depend on. Hashes are hexadecimal. */
export function eventJson({ stored, event }: StoredTaskEvent) {
  return {
    tenantId: stored.tenant_id,
    taskId: stored.task_id,
    version: event.version,
    eventId: stored.event_id,
    type: event.type,
    recordedAt: event.recordedAt,
    actor: { subject: stored.actor_subject, role: stored.actor_role },
    facts: event.facts,
    content: event.content ?? null,
    missing: event.missing ?? null,
    commandId: stored.command_id,
    causationId: stored.causation_id,
    contextId: stored.correlation_id,
    protocolVersion: stored.protocol_version,
    traceParent: stored.trace_parent,
    traceState: stored.trace_state,
    previousHash: stored.previous_hash.toString('hex'),
    hash: stored.hash.toString('hex'),
  };
}
