import { isTerminal, newId, TASK_STATUSES, type TaskStatus, type TaskView } from '@app/domain';
import { CancelTask, GetTask, ListTasks, SendMessage, type TaskFollower } from '@app/tasks';
import { Command, Option } from 'commander';
import { CheckFailed } from '../exit.js';
import {
  collect,
  instant,
  integerBetween,
  JSON_OPTION,
  type OutputOptions,
  type TaskOptions,
  TENANT_OPTION,
} from '../options.js';
import { formatCount } from '../output/count.js';
import { taskJson, taskLines } from '../output/task-output.js';
import { print, sanitizeForTerminal, table } from '../output/terminal.js';
import { clientName } from '../session/client-name.js';
import { OPERATOR, operatorOf } from '../session/database-session.js';
import { withTasks } from '../session/task-session.js';
import { taskEventCommands } from './task-events.commands.js';

interface ListOptions extends TaskOptions {
  readonly status?: TaskStatus;
  readonly context?: string;
  readonly owner?: string;
  readonly agent?: string;
  readonly ring?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  readonly pageToken?: string;
}

interface SendOptions extends TaskOptions {
  readonly subject: string;
  readonly ring?: string[];
  readonly task?: string;
  readonly wait?: true;
}

const NO_WORKER_WARNING_MS = 5_000;

/** Creates the commands for tasks. They run as an operator, who can access all tasks of a tenant; the audit log records it. */
export function tasksCommand(): Command {
  const tasks = new Command('tasks').description('Read and cancel tasks, and send messages.');
  tasks
    .command('list')
    .description('List the tasks of a tenant, most recently changed first.')
    .option('--tenant <tenant>', 'tenant of the tasks', 'default')
    .addOption(new Option('--status <status>', 'only tasks with this status').choices(TASK_STATUSES))
    .option('--context <id>', 'only tasks of this context')
    .option('--owner <subject>', 'only tasks of this user')
    .option('--agent <name>', 'only tasks of this agent')
    .option('--ring <ring>', 'only tasks in this ring')
    .option(
      '--since <time>',
      'only tasks whose status changed at this time or later, such as 2026-01-31T00:00:00Z',
      instant,
    )
    .option('--until <time>', 'only tasks whose status changed before this time', instant)
    .option('--limit <number>', 'tasks per page, 1 to 100', integerBetween(1, 100), 50)
    .option('--page-token <token>', 'token that the previous page printed')
    .option(...JSON_OPTION)
    .action(list);
  tasks
    .command('show <id>')
    .description('Show the status, history and artifacts of a task.')
    .option(...TENANT_OPTION)
    .option(...JSON_OPTION)
    .action(async (id: string, options: TaskOptions) => {
      const query = new GetTask(operatorOf(options.tenant), id, { replied: true });
      printTask(options, await withTasks(({ queries }) => queries.execute(query)));
    });
  for (const command of taskEventCommands()) tasks.addCommand(command);
  tasks
    .command('cancel <id>')
    .description('Cancel a task and show its final state; exit code 1 if it ended otherwise.')
    .option(...TENANT_OPTION)
    .option(...JSON_OPTION)
    .action(async (id: string, options: TaskOptions) => {
      const view = await withTasks(({ commands }) => commands.execute(new CancelTask(operatorOf(options.tenant), id)));
      printTask(options, view);
      if (view.state.status !== 'canceled') throw new CheckFailed();
    });
  tasks
    .command('send <text>')
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
    .option(...JSON_OPTION)
    .action(send);
  return tasks;
}

async function list(options: ListOptions): Promise<void> {
  const { tenant, status, context: contextId, owner, agent, ring, since, until, limit: pageSize, pageToken } = options;
  const query = new ListTasks(operatorOf(tenant), {
    status,
    contextId,
    owner,
    agent,
    ring,
    statusTimestampAfter: since,
    statusTimestampBefore: until,
    pageSize,
    pageToken,
    replied: true,
  });
  const page = await withTasks(({ queries }) => queries.execute(query));
  const { tasks, totalSize, nextPageToken } = page;
  const rows = tasks.map(({ taskId, state }) => [
    taskId,
    state.status,
    state.statusAt,
    sanitizeForTerminal(state.agent),
    sanitizeForTerminal(state.owner),
    sanitizeForTerminal(state.ring),
  ]);
  print(options, { tasks: tasks.map(taskJson), totalSize, nextPageToken }, [
    ...(tasks.length === 0 ? [] : table(['ID', 'STATUS', 'SINCE', 'AGENT', 'OWNER', 'RING'], rows)),
    `${tasks.length} of ${formatCount(totalSize, 'task')}`,
    ...(nextPageToken === '' ? [] : [`Next page: --page-token ${nextPageToken}`]),
  ]);
}

async function send(text: string, options: SendOptions): Promise<void> {
  const { tenant: tenantId, subject, ring: rings = ['ring:default'], task: taskId, wait = false } = options;
  const principal = { tenantId, subject, role: 'member', rings, agents: [] } as const;
  const message = { messageId: newId(), role: 'user', parts: [{ text }] } as const;
  const request = {
    message: { ...message, parts: [...message.parts] },
    taskId,
    request: { configuration: { returnImmediately: !wait }, clientName: clientName() },
    acknowledged: !wait,
  };
  const view = await withTasks(
    async ({ commands, signal }) => {
      const { follower } = await commands.execute(new SendMessage(principal, request));
      try {
        if (wait) await waitForOutcome(follower, signal);
        return (await follower.view())!;
      } finally {
        follower.close();
      }
    },
    { agents: 'configured' },
  );
  printTask(options, view);
  const { status } = view.state;
  if (wait && isTerminal(status) && status !== 'completed' && status !== 'replied') throw new CheckFailed();
}

/** Waits for the outcome of the task, and prints a warning when no worker claims it. */
async function waitForOutcome(follower: TaskFollower, signal: AbortSignal): Promise<void> {
  const warning = setTimeout(() => {
    if (follower.current.status !== 'submitted') return;
    console.error('acta: no worker has claimed the task yet: start a server or `acta worker` on this database');
  }, NO_WORKER_WARNING_MS);
  await follower.untilOutcome(signal).finally(() => clearTimeout(warning));
}

function printTask(options: OutputOptions, view: TaskView): void {
  print(options, taskJson(view), taskLines(view));
}
