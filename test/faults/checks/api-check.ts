import { call, type WireTask } from '../../support/clients/rpc.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { groupBy } from './group-by.js';
import type { Expectation, Journal, SentMessage } from '../load/journal.js';

const CONCURRENCY = 8;

/** Reads every acknowledged task through the API and compares its messages, state and artifact with the journal. */
export async function checkApi(url: string, journal: Journal): Promise<string[]> {
  const violations: string[] = [];
  const acknowledged = journal.sent.filter((sent) => sent.acknowledged);
  const remaining = [...groupBy(acknowledged, ({ taskId }) => taskId!)];
  const check = async () => {
    for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
      const [id, sent] = next;
      const { status, body, text } = await call(url, TOKEN, '1.0', 'GetTask', { id });
      const task = body.result as unknown as WireTask | undefined;
      if (task === undefined) violations.push(`GetTask returned ${status} ${text} for the acknowledged task ${id}`);
      else violations.push(...taskViolations(task, sent, journal.tasks.get(id)!));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, check));
  return violations;
}

function taskViolations(task: WireTask, sent: readonly SentMessage[], expected: Expectation): string[] {
  const violations = sent.flatMap(({ messageId, text }) => {
    const found = (task.history ?? []).filter((message) => message.messageId === messageId);
    return found.length === 1 && found[0]!.parts[0]?.text === text
      ? []
      : [`the history of task ${task.id} has message ${messageId} as ${JSON.stringify(found)}`];
  });
  const { state } = task.status;
  const artifact = task.artifacts?.flatMap(({ parts }) => parts.map(({ text }) => text)).join('');
  const isExpected =
    state === 'TASK_STATE_COMPLETED'
      ? expected.texts.some((text) => text.toUpperCase() === artifact)
      : (state === 'TASK_STATE_CANCELED' && expected.mayBeCanceled) ||
        (state === 'TASK_STATE_INPUT_REQUIRED' && expected.mayWait);
  if (!isExpected) {
    violations.push(
      `task ${task.id} is ${state} with the artifact "${artifact}"; expected ${JSON.stringify(expected)}`,
    );
  }
  return violations;
}
