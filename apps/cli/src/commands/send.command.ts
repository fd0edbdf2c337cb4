import { DomainError, isTerminal, newId, type TaskView } from '@app/domain';
import { GetTask, SendMessage, type SentMessage } from '@app/tasks';
import { Command } from 'commander';
import { CheckFailed } from '../exit.js';
import { collect, JSON_OPTION, type TaskOptions, TIMEOUT_OPTION } from '../options.js';
import { printTask } from '../output/task-output.js';
import { warnIfUnclaimed } from '../output/unclaimed-warning.js';
import { OPERATOR, operatorOf } from '../session/database-session.js';
import { timeLimit, withoutOutcome } from '../session/time-limit.js';
import { clientName } from '../session/program-version.js';
import { type TaskSession, withTasks } from '../session/task-session.js';

interface SendOptions extends TaskOptions {
  readonly subject: string;
  readonly ring?: string[];
  readonly task?: string;
  readonly wait?: true;
  /** Milliseconds. */
  readonly timeout?: number;
}

export function sendCommand(): Command {
  return new Command('send')
    .argument('<text>')
    .description('Send a text message as a member of a ring; without --task it starts a task of the default agent.')
    .option('--tenant <tenant>', 'tenant of the sender', 'default')
    .option('--subject <subject>', 'subject of the sender', OPERATOR)
    .option(
      '--ring <ring>',
      'ring of the sender; repeatable, the first one is the ring of a new task (default: "ring:default")',
      collect,
    )
    .option('--task <id>', 'existing task that receives the message, such as one that requires input')
    .option('--wait', 'wait until the task ends or requires input; exit code 1 if it fails, is rejected or canceled')
    .option(...TIMEOUT_OPTION)
    .option(...JSON_OPTION)
    .action(send);
}

async function send(text: string, options: SendOptions): Promise<void> {
  const { tenant: tenantId, subject, ring: rings = ['ring:default'], task: taskId, wait = false } = options;
  if (options.timeout !== undefined && !wait) throw new Error('--timeout limits --wait: add --wait, or omit --timeout');
  const principal = { tenantId, subject, role: 'member', rings, agents: [] } as const;
  const message = { messageId: newId(), role: 'user', parts: [{ text }] } as const;
  const request = {
    message: { ...message, parts: [...message.parts] },
    taskId,
    request: { configuration: { returnImmediately: !wait }, clientName: clientName() },
    acknowledged: !wait,
  };
  const view = await withTasks(
    async (session) => {
      const sent = await session.commands.execute(new SendMessage(principal, request)).catch(async (error: unknown) => {
        throw taskId !== undefined && DomainError.is(error, 'TaskNotFound')
          ? await explainInaccessible(session, options, taskId, error)
          : error;
      });
      try {
        if (wait) await waitForOutcome(sent, session.signal, options.timeout);
        return (await sent.follower.view())!;
      } finally {
        sent.follower.close();
      }
    },
    { agents: 'configured' },
  );
  printTask(options, view);
  const { status } = view.state;
  if (wait && isTerminal(status) && status !== 'completed' && status !== 'replied') throw new CheckFailed();
}

/** Returns why a member cannot send to a task that an operator sees. */
async function explainInaccessible(
  { queries }: TaskSession,
  { tenant, subject }: SendOptions,
  taskId: string,
  notFound: Error,
): Promise<Error> {
  const query = new GetTask(operatorOf(tenant), taskId, { historyLength: 0, replied: true });
  const view: TaskView | null = await queries.execute(query).catch(() => null);
  if (view === null) return notFound;
  const { owner, ring, status } = view.state;
  return status === 'replied'
    ? new Error(`task ${taskId} ended with a direct message response, so it receives no messages: start a new task`)
    : new Error(
        `task ${taskId} is not visible to ${subject}: send as its owner, with --subject ${quote(owner)} --ring ${quote(ring)}`,
      );
}

/** Waits for the outcome of the task, at most for a time. */
async function waitForOutcome(
  { taskId, follower }: SentMessage,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<void> {
  const cancelWarning = warnIfUnclaimed(async () => follower.current);
  const limit = timeLimit(timeoutMs);
  try {
    await follower.untilOutcome(limit === null ? signal : AbortSignal.any([signal, limit]));
  } catch (error) {
    if (limit?.aborted !== true || signal.aborted) throw error;
    throw new Error(withoutOutcome(taskId, follower.current));
  } finally {
    cancelWarning();
  }
}

/** Quotes a value for a shell, if it needs that. */
const quote = (value: string): string => (/^[\w.:@-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`);
