import { activeRun, evolve, isInterrupted, isTerminal, type RecordedEvent, type TaskState } from '@app/domain';
import { verifyChains } from '@app/audit';
import { type Database, EventDecoder, type ServerSecret, type StoredEvent } from '@app/storage';
import { Projections } from '@app/tasks';
import { updatesOf } from '@app/wire';
import { LEASE_MS } from '../fleet/fleet.js';
import { grouped } from './grouped.js';
import type { Journal, Watched } from '../load/journal.js';

/** A task as its events tell it. */
export interface Told {
  readonly tenantId: string;
  readonly events: readonly RecordedEvent[];
  readonly state: TaskState;
}

/** What the log says of every task, and what is wrong with it taken by itself. */
export async function readRecord(database: Database, secret: ServerSecret, overdue: ReadonlyMap<string, number>) {
  const { rows } = await database.pool.query<StoredEvent>(
    'select e.*, e.facts::text as facts from event e order by tenant_id, task_id, version',
  );
  const decoder = new EventDecoder(secret);
  const tasks = new Map<string, Told>();
  const violations: string[] = [];
  for (const stream of grouped(rows, ({ task_id: task }) => task).values()) {
    const { tenant_id: tenantId, task_id: taskId } = stream[0]!;
    const events = stream.map((stored) => decoder.decode({ ...stored, content: null }, null));
    violations.push(...commandsOf(stream), ...historyOf(taskId, events, overdue));
    const state = events.reduce<TaskState | null>((before, event) => evolve(before, event, event), null)!;
    tasks.set(taskId, { tenantId, events, state });
  }
  return { tasks, violations, events: rows.length };
}

/** Read models against a fresh projection, and hash chains against the stored bytes. */
export async function checkDerived(database: Database, secret: ServerSecret): Promise<string[]> {
  const violations: string[] = [];
  const projections = Projections.over({ database, secret }, LEASE_MS);
  for await (const task of projections.tasks()) {
    for (const { table, key, kind, columns } of await projections.check(task)) {
      violations.push(`the row ${key} in ${table} of ${task.taskId} is ${kind} ${columns.join(', ')}`);
    }
  }
  for await (const { breaks } of verifyChains(database)) {
    for (const { taskId, version, reason } of breaks) violations.push(`${taskId} at ${version}: ${reason}`);
  }
  return violations;
}

/** What clients were told, against what is in the record. */
export function checkPromises({ sent, watched, told }: Journal, tasks: ReadonlyMap<string, Told>): string[] {
  const violations: string[] = [];
  const acceptedIn = new Map<string, string[]>();
  for (const [taskId, { events }] of tasks) {
    for (const event of events) {
      if (event.type !== 'MessageAccepted') continue;
      const { messageId } = event.facts;
      acceptedIn.set(messageId, [...(acceptedIn.get(messageId) ?? []), taskId]);
    }
  }
  for (const { messageId, taskId, acknowledged, webhook } of sent) {
    const places = acceptedIn.get(messageId) ?? [];
    if (places.length > 1) violations.push(`message ${messageId} was accepted ${places.length} times`);
    if (acknowledged && !places.includes(taskId!)) violations.push(`message ${messageId} is not in task ${taskId}`);
    if (acknowledged && webhook && !tasks.get(taskId!)?.events.some(({ type }) => type === 'PushConfigSet')) {
      violations.push(`message ${messageId} came with a webhook, and task ${taskId} has none`);
    }
  }
  for (const { taskId, state } of told) {
    const now = tasks.get(taskId)?.state.status;
    if (`TASK_STATE_${now?.toUpperCase()}` !== state)
      violations.push(`told that ${taskId} is ${state}, and it is ${now}`);
  }
  for (const each of watched) violations.push(...streamOf(each, tasks.get(each.taskId)));
  return violations;
}

/** Every command is in the log at most once: what a repeat had added would stand apart. */
function commandsOf(stream: readonly StoredEvent[]): string[] {
  const seen = new Set<string>();
  return stream.flatMap(({ task_id: task, command_id: command, version }, at) => {
    if (stream[at - 1]?.command_id === command) return [];
    if (seen.has(command)) return [`${task} at ${version}: the command ${command} is in the log twice`];
    seen.add(command);
    return [];
  });
}

/** One pass over a task's events: each must be right where it stands. */
function historyOf(taskId: string, events: readonly RecordedEvent[], overdue: ReadonlyMap<string, number>): string[] {
  const violations: string[] = [];
  const ended = new Set<string>();
  let state: TaskState | null = null;
  for (const event of events) {
    const wrong = (what: string) => violations.push(`${taskId} at ${event.version}, ${event.type}: ${what}`);
    if (event.version !== (state?.version ?? 0) + 1) wrong('a version is missing before it');
    if (state !== null && isTerminal(state.status)) wrong(`comes after the end (${state.status})`);
    const active = state === null ? null : activeRun(state);
    if (event.type === 'RunStarted') {
      const { leaseGeneration, dispatcherGeneration, runId } = event.facts;
      if (active !== null) wrong(`starts a run while ${active.id} is active`);
      if (ended.has(runId)) wrong(`starts run ${runId} again`);
      if (leaseGeneration !== state!.leaseGeneration + 1) wrong('its lease generation is not the next one');
      if (dispatcherGeneration !== state!.dispatcherGeneration) wrong('its dispatcher generation is stale');
    } else if (
      'runId' in event.facts &&
      !(event.type === 'TaskFailed' && event.facts.reason === 'attempts-exhausted')
    ) {
      if (event.facts.runId !== active?.id) wrong(`is of run ${event.facts.runId}, and ${active?.id} is active`);
    }
    const writes = 'seq' in event.facts && event.facts.seq !== undefined && active !== null;
    if (writes && event.version > (overdue.get(active.id) ?? Infinity)) {
      wrong(`run ${active.id} wrote it, whose lease had been over since version ${overdue.get(active.id)}`);
    }
    if (event.type === 'TaskFailed') wrong(`no agent failed (${event.facts.reason})`);
    const before = state;
    state = evolve(before, event, event);
    if (before !== null && state.statusAt < before.statusAt) wrong('its time is before that of the status before it');
    if (active !== null && activeRun(state) === null) {
      if (ended.has(active.id)) wrong(`run ${active.id} ends a second time`);
      ended.add(active.id);
    }
  }
  if (state !== null && !isTerminal(state.status) && !isInterrupted(state.status)) {
    violations.push(`${taskId} is stuck: ${state.status}, run ${JSON.stringify(activeRun(state))}`);
  }
  return violations;
}

/** Whether a client saw every update of a task once and in order, from its snapshot on. */
function streamOf({ taskId, from, ids, ended }: Watched, told: Told | undefined): string[] {
  if (from === 0 || told === undefined) return [];
  const shown = shownAfter(from, told).map(({ version }) => version);
  const expected = ended ? shown : shown.slice(0, ids.length);
  return String(ids) === String(expected)
    ? []
    : [`the stream of ${taskId} from ${from} showed ${String(ids)} of ${String(shown)}`];
}

/** What clients and webhooks are shown of a task after a version, and the state that it tells; null for an artifact. */
export function shownAfter(from: number, { events }: Told): { version: number; state: string | null }[] {
  const shown: { version: number; state: string | null }[] = [];
  let state: TaskState | null = null;
  for (const event of events) {
    const after = evolve(state, event, event);
    // A chunk needs no content to be counted.
    const [update] = updatesOf(event, state, after, '');
    if (event.version > from && update !== undefined) {
      shown.push({ version: event.version, state: update.type === 'status' ? wireState(after) : null });
    }
    state = after;
  }
  return shown;
}

const wireState = ({ status }: TaskState) => `TASK_STATE_${status.toUpperCase().replace('-', '_')}`;
