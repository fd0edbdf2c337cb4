import { activeRun, evolve, isInterrupted, isTerminal, type RecordedEvent, type TaskState } from '@app/domain';
import { verifyChains } from '@app/audit';
import { type Database, EventDecoder, type ServerSecret, type StoredEvent } from '@app/storage';
import { Projections } from '@app/tasks';
import { updatesOf } from '@app/wire';
import { LEASE_MS } from '../fleet/fleet.js';
import { groupBy } from './group-by.js';
import type { Journal, WatchedStream } from '../load/journal.js';

/** A task, folded from its events. */
export interface RecordedTask {
  readonly tenantId: string;
  readonly events: readonly RecordedEvent[];
  readonly state: TaskState;
}

/** Reads every task from the event log, and checks each event stream on its own. */
export async function readEventLog(database: Database, secret: ServerSecret, expired: ReadonlyMap<string, number>) {
  const { rows } = await database.pool.query<StoredEvent>(
    'select e.*, e.facts::text as facts from event e order by tenant_id, task_id, version',
  );
  const decoder = new EventDecoder(secret);
  const tasks = new Map<string, RecordedTask>();
  const violations: string[] = [];
  for (const stream of groupBy(rows, ({ task_id: task }) => task).values()) {
    const { tenant_id: tenantId, task_id: taskId } = stream[0]!;
    const events = stream.map((stored) => decoder.decode({ ...stored, content: null }, null));
    violations.push(...duplicateCommands(stream), ...historyViolations(taskId, events, expired));
    const state = events.reduce<TaskState | null>((before, event) => evolve(before, event, event), null)!;
    tasks.set(taskId, { tenantId, events, state });
  }
  return { tasks, violations, events: rows.length };
}

/** Compares the read models with a new projection, and verifies the hash chains against the stored bytes. */
export async function checkReadModelsAndChains(database: Database, secret: ServerSecret): Promise<string[]> {
  const violations: string[] = [];
  const projections = Projections.create({ database, secret }, LEASE_MS);
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

/** Compares what clients sent and received with the event log. */
export function checkJournal(
  { sent, watched, terminalStates }: Journal,
  tasks: ReadonlyMap<string, RecordedTask>,
): string[] {
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
    const taskIds = acceptedIn.get(messageId) ?? [];
    if (taskIds.length > 1) violations.push(`message ${messageId} was accepted ${taskIds.length} times`);
    if (acknowledged && !taskIds.includes(taskId!)) violations.push(`message ${messageId} is not in task ${taskId}`);
    if (acknowledged && webhook && !tasks.get(taskId!)?.events.some(({ type }) => type === 'PushConfigSet')) {
      violations.push(`message ${messageId} set a webhook, but task ${taskId} has none`);
    }
  }
  for (const { taskId, state } of terminalStates) {
    const status = tasks.get(taskId)?.state.status;
    if (`TASK_STATE_${status?.toUpperCase()}` !== state) {
      violations.push(`a client received ${state} for task ${taskId}, which is ${status}`);
    }
  }
  for (const each of watched) violations.push(...streamViolations(each, tasks.get(each.taskId)));
  return violations;
}

/** Returns the commands that were appended twice. The events of one append are adjacent. */
function duplicateCommands(stream: readonly StoredEvent[]): string[] {
  const seen = new Set<string>();
  return stream.flatMap(({ task_id: task, command_id: command, version }, index) => {
    if (stream[index - 1]?.command_id === command) return [];
    if (seen.has(command)) return [`${task} at ${version}: command ${command} was appended twice`];
    seen.add(command);
    return [];
  });
}

/** Checks the order of a task's events and the run and lease of each. */
function historyViolations(
  taskId: string,
  events: readonly RecordedEvent[],
  expired: ReadonlyMap<string, number>,
): string[] {
  const violations: string[] = [];
  const ended = new Set<string>();
  let state: TaskState | null = null;
  for (const event of events) {
    const report = (problem: string) => violations.push(`${taskId} at ${event.version}, ${event.type}: ${problem}`);
    if (event.version !== (state?.version ?? 0) + 1) report('the previous version is missing');
    if (state !== null && isTerminal(state.status)) report(`follows the terminal state ${state.status}`);
    const active = state === null ? null : activeRun(state);
    if (event.type === 'RunStarted') {
      const { leaseGeneration, dispatcherGeneration, runId } = event.facts;
      if (active !== null) report(`starts a run while ${active.id} is active`);
      if (ended.has(runId)) report(`starts run ${runId} again`);
      if (leaseGeneration !== state!.leaseGeneration + 1) report('the lease generation is not the next one');
      if (dispatcherGeneration !== state!.dispatcherGeneration) report('the dispatcher generation is stale');
    } else if (
      'runId' in event.facts &&
      !(event.type === 'TaskFailed' && event.facts.reason === 'attempts-exhausted')
    ) {
      if (event.facts.runId !== active?.id)
        report(`belongs to run ${event.facts.runId}, but run ${active?.id} is active`);
    }
    const writes = 'seq' in event.facts && event.facts.seq !== undefined && active !== null;
    if (writes && event.version > (expired.get(active.id) ?? Infinity)) {
      report(`written by run ${active.id}, whose lease had expired at version ${expired.get(active.id)}`);
    }
    if (event.type === 'TaskFailed') report(`unexpected failure (${event.facts.reason})`);
    const before = state;
    state = evolve(before, event, event);
    if (before !== null && state.statusAt < before.statusAt)
      report('its time is earlier than that of the previous status');
    if (active !== null && activeRun(state) === null) {
      if (ended.has(active.id)) report(`ends run ${active.id} again`);
      ended.add(active.id);
    }
  }
  if (state !== null && !isTerminal(state.status) && !isInterrupted(state.status)) {
    violations.push(`${taskId} is stuck: ${state.status}, run ${JSON.stringify(activeRun(state))}`);
  }
  return violations;
}

/** Checks that a client received every update after its snapshot once and in order. */
function streamViolations({ taskId, from, ids, ended }: WatchedStream, task: RecordedTask | undefined): string[] {
  if (from === 0 || task === undefined) return [];
  const recorded = updatesAfter(from, task).map(({ version }) => version);
  const expected = ended ? recorded : recorded.slice(0, ids.length);
  return String(ids) === String(expected)
    ? []
    : [`the stream of ${taskId} after ${from} delivered ${String(ids)} of ${String(recorded)}`];
}

/** Returns the updates that streams and webhooks deliver after a version. The state is null for an artifact. */
export function updatesAfter(from: number, { events }: RecordedTask): { version: number; state: string | null }[] {
  const updates: { version: number; state: string | null }[] = [];
  let state: TaskState | null = null;
  for (const event of events) {
    const after = evolve(state, event, event);
    // The content of a chunk does not matter here.
    const [update] = updatesOf(event, state, after, '');
    if (event.version > from && update !== undefined) {
      updates.push({ version: event.version, state: update.type === 'status' ? wireState(after) : null });
    }
    state = after;
  }
  return updates;
}

const wireState = ({ status }: TaskState) => `TASK_STATE_${status.toUpperCase().replace('-', '_')}`;
