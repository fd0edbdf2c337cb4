import { type Message, type Part, type TaskView, textOf } from '@app/domain';
import { harmless, harmlessLines, shorten } from './terminal.js';

/** The stable JSON of a task. */
export function taskJson({ tenantId, taskId, state, statusMessage, history, artifacts, truncated }: TaskView) {
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

/** A task for people: its facts, what was said, what came of it. */
export function taskLines(view: TaskView): string[] {
  const { taskId, state, statusMessage, history, artifacts } = view;
  const facts: [string, string][] = [
    ['Task', taskId],
    ['Status', `${state.status} since ${state.statusAt}`],
    ['Agent', state.agent],
    ['Owner', `${state.owner} in ${state.ring}`],
    ['Context', state.contextId],
    ['Version', String(state.version)],
    ...(state.run === null ? [] : [['Run', runOf(state.run)] as [string, string]]),
  ];
  return [
    ...facts.map(([name, value]) => `${name.padEnd(8)} ${harmless(value)}`),
    ...(history.length === 0 ? [] : ['', 'History']),
    ...history.flatMap(messageLines),
    ...(statusMessage === undefined ? [] : ['', 'Status message', ...messageLines(statusMessage)]),
    ...artifacts.flatMap(({ artifactId, name, parts }) => [
      '',
      harmless(`Artifact ${artifactId}${name === undefined ? '' : ` (${name})`}`),
      ...contentLines(parts),
    ]),
    ...(view.truncated === undefined ? [] : ['', 'More than this is in the record: see `acta tasks events`.']),
  ];
}

function runOf({ attempt, worker, outcome }: NonNullable<TaskView['state']['run']>): string {
  return `attempt ${attempt} on ${worker}, ${outcome ?? 'under way'}`;
}

function messageLines({ role, parts }: Message): string[] {
  const [first = '', ...others] = contentLines(parts);
  return [`  ${role}: ${first.trimStart()}`, ...others.map((line) => `  ${line}`)];
}

/** Text as it is, whatever else in one line. */
function contentLines(parts: readonly Part[]): string[] {
  const lines = parts.flatMap((part) => {
    if (part.text !== undefined) return harmlessLines(textOf({ parts: [part] }));
    const { raw, ...rest } = part;
    return [shorten(harmless(JSON.stringify(raw === undefined ? rest : { ...rest, raw: '…' })), 200)];
  });
  return lines.map((line) => `  ${line}`);
}
