import type { RecordedEvent } from '@app/domain';
import type { EventLog } from '@app/event-log';
import type { RecordedTask } from './event-log-check.js';

const CONCURRENCY = 4;

/**
 * Checks the artifact text of each run. A run that completes its task has written its complete input in upper case; a run that was
 * lost has written a prefix of it.
 */
export async function checkTexts(log: EventLog, tasks: ReadonlyMap<string, RecordedTask>): Promise<string[]> {
  const violations: string[] = [];
  const remaining = [...tasks];
  const read = async () => {
    for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
      const [taskId, { tenantId, events }] = next;
      violations.push(...textViolations(taskId, await log.read(tenantId, taskId, 0, events.length)));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, read));
  return violations;
}

function textViolations(taskId: string, events: readonly RecordedEvent[]): string[] {
  const violations: string[] = [];
  const expected: string[] = [];
  let run = '';
  let written = '';
  for (const event of events) {
    if (event.type === 'MessageAccepted') expected.push(textIn(event.content?.message?.parts).toUpperCase());
    if (event.type === 'RunStarted') {
      run = event.facts.runId;
      written = '';
    }
    if (event.type === 'ArtifactPublished') written += textIn(event.content?.artifact?.parts);
    else if (event.type !== 'TaskCompleted') continue;
    const isComplete = event.type === 'TaskCompleted';
    if (expected.some((text) => (isComplete ? text === written : text.startsWith(written)))) continue;
    violations.push(
      `${taskId} at ${event.version}: run ${run} has written "${written}"; expected ${JSON.stringify(expected)}`,
    );
    break;
  }
  return violations;
}

const textIn = (parts: readonly { text?: unknown }[] = []): string => parts.map(({ text }) => String(text)).join('');
