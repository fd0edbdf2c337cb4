import { call, type WireTask } from '../../support/clients/rpc.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { grouped } from './grouped.js';
import type { Expectation, Journal, SentMessage } from '../load/journal.js';

const AT_A_TIME = 8;

/** Asks for every acknowledged task as a client would: it is there, with what was sent and what became of it. */
export async function checkThroughApi(url: string, journal: Journal): Promise<string[]> {
  const violations: string[] = [];
  const acknowledged = journal.sent.filter((sent) => sent.acknowledged);
  const waiting = [...grouped(acknowledged, ({ taskId }) => taskId!)];
  const asks = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [id, sent] = next;
      const { status, body, text } = await call(url, TOKEN, '1.0', 'GetTask', { id });
      const task = body.result as unknown as WireTask | undefined;
      if (task === undefined) violations.push(`task ${id} was acknowledged and is now ${status} ${text}`);
      else violations.push(...problemsOf(task, sent, journal.tasks.get(id)!));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, asks));
  return violations;
}

function problemsOf(task: WireTask, sent: readonly SentMessage[], expected: Expectation): string[] {
  const problems = sent.flatMap(({ messageId, text }) => {
    const found = (task.history ?? []).filter((message) => message.messageId === messageId);
    return found.length === 1 && found[0]!.parts[0]?.text === text
      ? []
      : [`message ${messageId} of task ${task.id} is in its history as ${JSON.stringify(found)}`];
  });
  const { state } = task.status;
  const answer = task.artifacts?.flatMap(({ parts }) => parts.map(({ text }) => text)).join('');
  const done = expected.texts.some((text) => text.toUpperCase() === answer);
  const right =
    state === 'TASK_STATE_COMPLETED'
      ? done
      : (state === 'TASK_STATE_CANCELED' && expected.mayBeCanceled) ||
        (state === 'TASK_STATE_INPUT_REQUIRED' && expected.mayWait);
  if (!right) problems.push(`task ${task.id} is ${state} with "${answer}", for ${JSON.stringify(expected)}`);
  return problems;
}
