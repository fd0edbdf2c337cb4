import type { RecordedEvent } from '@app/domain';
import type { EventLog } from '@app/event-log';
import type { Told } from './record-check.js';

const AT_A_TIME = 4;

/**
 * What each run said, also one that was lost: the capitals of what it was asked as far as it came, all of them if it ended
 * the task, with nothing missing and nothing twice.
 */
export async function checkTexts(log: EventLog, tasks: ReadonlyMap<string, Told>): Promise<string[]> {
  const violations: string[] = [];
  const waiting = [...tasks];
  const read = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [taskId, { tenantId, events }] = next;
      violations.push(...textsOf(taskId, await log.read(tenantId, taskId, 0, events.length)));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, read));
  return violations;
}

function textsOf(taskId: string, events: readonly RecordedEvent[]): string[] {
  const violations: string[] = [];
  const asked: string[] = [];
  let run = '';
  let said = '';
  for (const event of events) {
    if (event.type === 'MessageAccepted') asked.push(textIn(event.content?.message?.parts).toUpperCase());
    if (event.type === 'RunStarted') {
      run = event.facts.runId;
      said = '';
    }
    if (event.type === 'ArtifactPublished') said += textIn(event.content?.artifact?.parts);
    else if (event.type !== 'TaskCompleted') continue;
    const whole = event.type === 'TaskCompleted';
    if (asked.some((text) => (whole ? text === said : text.startsWith(said)))) continue;
    violations.push(`${taskId} at ${event.version}: run ${run} has said "${said}", for ${JSON.stringify(asked)}`);
    break;
  }
  return violations;
}

const textIn = (parts: readonly { text?: unknown }[] = []): string => parts.map(({ text }) => String(text)).join('');
