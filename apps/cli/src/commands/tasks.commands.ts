import { formatCount, TASK_STATUSES, type TaskStatus } from '@app/domain';
import { CancelTask, GetTask, ListTasks } from '@app/tasks';
import { Command, Option } from 'commander';
import { CheckFailed } from '../exit.js';
import { instant, integerBetween, JSON_OPTION, type TaskOptions, TENANT_OPTION } from '../options.js';
import { printTask, taskJson } from '../output/task-output.js';
import { print, sanitizeForTerminal, table } from '../output/terminal.js';
import { operatorOf } from '../session/database-session.js';
import { withTasks } from '../session/task-session.js';
import { sendCommand } from './send.command.js';
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
  tasks.addCommand(sendCommand());
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
