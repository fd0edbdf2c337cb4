import { type Message, type Part, type TaskView, textOf } from '@app/domain';
import { resolveView } from '@app/wire';
import type { OutputOptions } from '../options.js';
import { print, sanitizeForTerminal, sanitizeLines, shorten } from './terminal.js';

export const printTask = (options: OutputOptions, view: TaskView): void =>
  print(options, taskJson(view), taskLines(view));

/** Returns the machine-readable form of a task, which scripts depend on. */
export function taskJson(view: TaskView) {
  const { tenantId, taskId, state, statusMessage, history, artifacts, truncated } = resolveView(view);
  const { run } = state;
  return {
    tenantId,
    taskId,
    contextId: state.contextId,
    owner: state.owner,
    ring: state.ring,
    agent: state.agent,
    status: state.status,
    statusAt: state.statusAt,
    createdAt: state.createdAt,
    version: state.version,
    run:
      run === null
        ? null
        : {
            runId: run.id,
            attempt: run.attempt,
            worker: run.worker,
            startedAt: run.startedAt,
            endedAt: run.endedAt,
            outcome: run.outcome,
          },
    statusMessage: statusMessage ?? null,
    history,
    artifacts,
    ...(truncated === undefined ? {} : { truncated }),
  };
}

/** Formats a task for a terminal: its properties, history, status message and artifacts. */
function taskLines(view: TaskView): string[] {
  const { taskId, state, statusMessage, history, artifacts } = resolveView(view);
  const properties: [string, string][] = [
    ['Task', taskId],
    ['Status', `${state.status} since ${state.statusAt}`],
    ['Agent', state.agent],
    ['Owner', `${state.owner} in ${state.ring}`],
    ['Context', state.contextId],
    ['Version', String(state.version)],
    ...(state.run === null ? [] : [['Run', describeRun(state.run)] as [string, string]]),
  ];
  return [
    ...properties.map(([name, value]) => `${name.padEnd(8)} ${sanitizeForTerminal(value)}`),
    ...(history.length === 0 ? [] : ['', 'History']),
    ...history.flatMap(messageLines),
    ...(statusMessage === undefined ? [] : ['', 'Status message', ...messageLines(statusMessage)]),
    ...artifacts.flatMap(({ artifactId, name, parts }) => [
      '',
      sanitizeForTerminal(`Artifact ${artifactId}${name === undefined ? '' : ` (${name})`}`),
      ...contentLines(parts),
    ]),
    ...(view.truncated === undefined ? [] : ['', 'The output is truncated: `acta tasks events` prints every event.']),
  ];
}

function describeRun({ attempt, worker, outcome }: NonNullable<TaskView['state']['run']>): string {
  return `attempt ${attempt} on ${worker}, ${outcome ?? 'running'}`;
}

function messageLines({ role, parts }: Message): string[] {
  const [first = '', ...others] = contentLines(parts);
  return [`  ${role}: ${first.trimStart()}`, ...others.map((line) => `  ${line}`)];
}

/** Formats text parts as their lines, and every other part as one line of JSON. */
function contentLines(parts: readonly Part[]): string[] {
  const lines = parts.flatMap((part) => {
    if (part.text !== undefined) return sanitizeLines(textOf({ parts: [part] }));
    const { raw, ...rest } = part;
    return [shorten(sanitizeForTerminal(JSON.stringify(raw === undefined ? rest : { ...rest, raw: '…' })), 200)];
  });
  return lines.map((line) => `  ${line}`);
}
