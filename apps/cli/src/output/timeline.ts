import { type EventContent, type Part, type RecordedEvent, textOf } from '@app/domain';
import type { EventLog, StoredEvent } from '@app/storage';
import { harmless, pad, shorten } from './terminal.js';

/** An event as the command line shows it: as stored, with its content readable. */
export interface TimelineEntry {
  readonly stored: StoredEvent;
  readonly event: RecordedEvent;
}

const PAGE = 100;
const GIST_WIDTH = 72;

/** The events of one task after a version, in order, page by page. */
export async function* readTimeline(
  log: EventLog,
  tenantId: string,
  taskId: string,
  after = 0,
): AsyncGenerator<TimelineEntry> {
  let last = after;
  for (;;) {
    const page = await log.readStored(tenantId, taskId, last, PAGE);
    for (const { event: stored, key } of page) yield { stored, event: log.open(stored, key) };
    if (page.length < PAGE) return;
    last = page.at(-1)!.event.version;
  }
}

/** Writes a task's events as aligned lines: time, time since the event before, version, type, actor, gist. */
export class TimelineFormat {
  private previous: number | null = null;

  /** The widths that every line has, whatever comes later: a timeline may be followed while it grows. */
  line({ stored, event }: TimelineEntry): string {
    const at = Date.parse(event.recordedAt);
    const delta = this.previous === null ? '' : `+${formatSpan(at - this.previous)}`;
    this.previous = at;
    const { actor_subject: subject, actor_role: role } = stored;
    return [
      event.recordedAt.replace('T', ' '),
      delta.padStart(9),
      String(event.version).padStart(4),
      pad(event.type, 22),
      pad(shorten(harmless(role === subject ? subject : `${subject} (${role})`), 28), 28),
      gistOf(event),
    ]
      .join('  ')
      .trimEnd();
  }
}

/** `12 ms`, `1.5 s`, `3 m 04 s`, `2 h 05 m`, `3 d 04 h`. */
export function formatSpan(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const [seconds, minutes, hours] = [ms / 1_000, ms / 60_000, ms / 3_600_000];
  if (minutes < 60) return `${Math.floor(minutes)} m ${two(seconds % 60)} s`;
  if (hours < 24) return `${Math.floor(hours)} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** What an event says in a few words, on one line that is safe to show. */
export function gistOf(event: RecordedEvent): string {
  const said = event.missing === undefined ? saidIn(event.content) : `(${event.missing})`;
  return shorten(harmless([...decidedIn(event), ...(said === '' ? [] : [said])].join(', ')), GIST_WIDTH);
}

function saidIn({ message, artifact }: EventContent = {}): string {
  if (message !== undefined) return quote(message.parts);
  return artifact === undefined
    ? ''
    : `${artifact.name === undefined ? '' : `${artifact.name}: `}${quote(artifact.parts)}`;
}

function quote(parts: readonly Part[]): string {
  const text = textOf({ parts: [...parts] });
  const others = parts.filter((part) => part.text === undefined).map(describePart);
  return [...(text === '' ? [] : [JSON.stringify(shorten(text, GIST_WIDTH))]), ...others].join(' ');
}

function describePart({ raw, url, data, filename, mediaType }: Part): string {
  if (data !== undefined) return shorten(JSON.stringify(data), GIST_WIDTH);
  const name = filename ?? mediaType ?? 'file';
  return raw === undefined ? `[${name} at ${url}]` : `[${name}, ${Math.floor((raw.length * 3) / 4)} bytes]`;
}

function decidedIn(event: RecordedEvent): string[] {
  switch (event.type) {
    case 'TaskSubmitted':
      return [`agent ${event.facts.agent}`, event.facts.ring];
    case 'RunStarted':
      return [`attempt ${event.facts.attempt}`, `worker ${event.facts.worker}`];
    case 'ArtifactPublished':
      return [`${event.facts.append ? 'more of ' : ''}${event.facts.artifactId}`];
    case 'TaskFailed':
    case 'TaskCanceled':
    case 'RunLost':
      return [event.facts.reason];
    case 'CancelRequested':
      return [`until ${event.facts.deadline}`];
    case 'RunRetried':
      return [`attempt ${event.facts.attempt}`, `not before ${event.facts.notBefore}`];
    default:
      return [];
  }
}

/** The stable JSON of an event. Hashes are hexadecimal. */
export function eventJson({ stored, event }: TimelineEntry) {
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
    previousHash: stored.previous_hash.toString('hex'),
    hash: stored.hash.toString('hex'),
  };
}
