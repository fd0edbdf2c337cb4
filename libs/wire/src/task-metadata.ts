import type { JsonObject, TaskView } from '@app/domain';

/** `Task.metadata` of both versions: the latest run, and what the bounds left out. Names no worker. */
export function taskMetadata({ state: { run }, truncated }: TaskView): JsonObject | undefined {
  if (run === null && truncated === undefined) return undefined;
  return {
    ...(run === null
      ? {}
      : {
          'acta/run': {
            attempt: run.attempt,
            state: run.outcome ?? 'running',
            startedAt: run.startedAt,
            ...(run.endedAt === null ? {} : { endedAt: run.endedAt }),
          },
        }),
    ...(truncated === undefined ? {} : { 'acta/truncated': truncated }),
  };
}

/** The newest `historyLength` messages, oldest first; all of them when it is undefined. */
export function recentHistory({ history }: TaskView, historyLength: number | undefined): TaskView['history'] {
  if (historyLength === undefined || historyLength >= history.length) return history;
  return historyLength === 0 ? [] : history.slice(-historyLength);
}
