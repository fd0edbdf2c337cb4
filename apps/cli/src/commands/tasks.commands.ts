import { isTerminal, newId, type TaskStatus, type TaskView } from '@app/domain';
import { CancelTask, GetTask, ListTasks, SendMessage, type TaskFollower } from '@app/tasks';
import { Command, Option } from 'commander';
import { OPERATOR, operatorOf } from '../session/database-session.js';
import { NotWell } from '../exit.js';
import { collect, JSON_OPTION, type OutputOptions, type TaskOptions, TENANT_OPTION, wholeNumber } from '../options.js';
import { taskJson, taskLines } from '../output/task-output.js';
import { withTasks } from '../session/task-session.js';
import { harmless, print, table } from '../output/terminal.js';
import { recordCommands } from './task-record.commands.js';

interface ListOptions extends TaskOptions {
  readonly status?: TaskStatus;
  readonly context?: string;
  readonly limit: number;
  readonly pageToken?: string;
}

interface SendOptions extends TaskOptions {
  readonly subject: string;
  readonly ring?: string[];
  readonly task?: string;
  readonly wait?: true;
}

const STATUSES: readonly TaskStatus[] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'rejected',
  'canceled',
];
const UNATTENDED_MS = 5_000;

/** Tasks, on the database itself: an operator sees all of a tenant, and the audit log says so. */
export function tasksCommand(): Command {
  const tasks = new Command('tasks').description('Look at tasks, send to them and cancel them.');
  tasks
    .command('list')
    .description('List the tasks of a tenant, the newest status first.')
    .option('--tenant <tenant>', 'whose tasks', 'default')
    .addOption(new Option('--status <status>', 'only those that have it').choices(STATUSES))
    .option('--context <id>', 'only those of a context')
    .option('--limit <number>', 'tasks on a page, 1 to 100', wholeNumber(1, 100), 50)
    .option('--page-token <token>', 'go on where the page before ended')
    .option(...JSON_OPTION)
    .action(list);
  tasks
    .command('show <id>')
    .description('Show a task as a client sees it: status, history, artifacts.')
    .option(...TENANT_OPTION)
    .option(...JSON_OPTION)
    .action(async (id: string, options: TaskOptions) => {
      const query = new GetTask(operatorOf(options.tenant), id, { replied: true });
      printTask(options, await withTasks(({ queries }) => queries.execute(query)));
    });
  for (const command of recordCommands()) tasks.addCommand(command);
  tasks
    .command('cancel <id>')
    .description('Cancel a task, and show it in its final state, whatever won.')
    .option(...TENANT_OPTION)
    .option(...JSON_OPTION)
    .action(async (id: string, options: TaskOptions) => {
      const view = await withTasks(({ commands }) => commands.execute(new CancelTask(operatorOf(options.tenant), id)));
      printTask(options, view);
      if (view.state.status !== 'canceled') throw new NotWell();
    });
  tasks
    .command('send <text>')
    .description('Send a text to the default agent as a member, as a client would.')
    .option('--tenant <tenant>', 'in which tenant', 'default')
    .option('--subject <subject>', 'as whom', OPERATOR)
    .option('--ring <ring>', 'in which ring; several are those that the member sees (default: "ring:default")', collect)
    .option('--task <id>', 'one more message of this task, such as the answer to its question')
    .option('--wait', 'wait until the task has ended or asks for something; exit code 1 unless it went well')
    .option(...JSON_OPTION)
    .action(send);
  return tasks;
}

async function list(options: ListOptions): Promise<void> {
  const { tenant, status, context: contextId, limit: pageSize, pageToken } = options;
  const query = new ListTasks(operatorOf(tenant), { status, contextId, pageSize, pageToken, replied: true });
  const page = await withTasks(({ queries }) => queries.execute(query));
  const { tasks, totalSize, nextPageToken } = page;
  const rows = tasks.map(({ taskId, state }) => [
    taskId,
    state.status,
    state.statusAt,
    harmless(state.agent),
    harmless(state.owner),
    harmless(state.ring),
  ]);
  print(options, { tasks: tasks.map(taskJson), totalSize, nextPageToken }, [
    ...(tasks.length === 0 ? [] : table(['ID', 'STATUS', 'SINCE', 'AGENT', 'OWNER', 'RING'], rows)),
    `${tasks.length} of ${totalSize} ${totalSize === 1 ? 'task' : 'tasks'}`,
    ...(nextPageToken === '' ? [] : [`Next page: --page-token ${nextPageToken}`]),
  ]);
}

async function send(text: string, options: SendOptions): Promise<void> {
  const { tenant: tenantId, subject, ring: rings = ['ring:default'], task: taskId, wait = false } = options;
  const principal = { tenantId, subject, role: 'member', rings, agents: [] } as const;
  const message = { messageId: newId(), role: 'user', parts: [{ text }] } as const;
  const request = { message: { ...message, parts: [...message.parts] }, taskId, acknowledged: !wait };
  const view = await withTasks(
    async ({ commands, signal }) => {
      const { follower } = await commands.execute(new SendMessage(principal, request));
      try {
        if (wait) await outcomeOf(follower, signal);
        return (await follower.view())!;
      } finally {
        follower.close();
      }
    },
    { agents: 'configured' },
  );
  printTask(options, view);
  const { status } = view.state;
  if (wait && isTerminal(status) && status !== 'completed' && status !== 'replied') throw new NotWell();
}

/** Waits for whoever runs the task, and says so when nobody seems to. */
async function outcomeOf(follower: TaskFollower, signal: AbortSignal): Promise<void> {
  const unattended = setTimeout(() => {
    if (follower.current.status !== 'submitted') return;
    console.error('acta: no worker has taken the task so far; is a server or `acta worker` running on this database?');
  }, UNATTENDED_MS);
  await follower.untilOutcome(signal).finally(() => clearTimeout(unattended));
}

function printTask(options: OutputOptions, view: TaskView): void {
  print(options, taskJson(view), taskLines(view));
}
