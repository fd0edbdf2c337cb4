import { isTerminal } from '@app/domain';
import { followTask, GetTask, type StoredTaskEvent } from '@app/tasks';
import { Command } from 'commander';
import { integerBetween, JSON_OPTION, type TaskOptions, TENANT_OPTION } from '../options.js';
import { printJson, table } from '../output/terminal.js';
import { eventJson, readTimeline, summarize, TimelineFormat } from '../output/timeline.js';
import { operatorOf } from '../session/database-session.js';
import { type TaskSession, withTasks } from '../session/task-session.js';

/** Creates the commands that print the events of one task. With `--json`, they print one event per line. */
export function taskEventCommands(): Command[] {
  const after = ['--after <version>', 'only events after this version', integerBetween(0, 2 ** 31 - 1), 0] as const;
  return [
    new Command('events')
      .argument('<id>')
      .description('Print the events of a task with their ids and hashes; --json adds actors, commands and content.')
      .option(...TENANT_OPTION)
      .option(...after)
      .option(...JSON_OPTION)
      .action(printEvents),
    new Command('timeline')
      .argument('<id>')
      .description('Print the timeline of a task.')
      .option(...TENANT_OPTION)
      .option(...JSON_OPTION)
      .action(async (id: string, options: TaskOptions) => {
        const printEvent = eventPrinter(options);
        await withEvents(id, options, 0, async (events) => {
          for await (const event of events) printEvent(event);
        });
      }),
    new Command('watch')
      .argument('<id>')
      .description('Print the events of a task as they are recorded, until it ends.')
      .option(...TENANT_OPTION)
      .option(...after)
      .option(...JSON_OPTION)
      .action(watch),
  ];
}

type AfterOptions = TaskOptions & { readonly after: number };

async function printEvents(id: string, options: AfterOptions): Promise<void> {
  const rows: string[][] = [];
  await withEvents(id, options, options.after, async (events) => {
    for await (const event of events) {
      if (options.json) printJson(eventJson(event));
      else rows.push(rowOf(event));
    }
  });
  if (options.json) return;
  for (const line of table(['VERSION', 'RECORDED AT', 'TYPE', 'EVENT ID', 'HASH', 'SUMMARY'], rows)) console.log(line);
}

function rowOf({ stored, event }: StoredTaskEvent): string[] {
  const hash = stored.hash.toString('hex').slice(0, 16);
  return [String(event.version), event.recordedAt, event.type, stored.event_id, hash, summarize(event)];
}

async function watch(id: string, options: AfterOptions): Promise<void> {
  const printEvent = eventPrinter(options);
  await withEvents(id, options, options.after, async (_, { reader, wakeups, signal, queries }) => {
    const { tenant: tenantId } = options;
    const query = new GetTask(operatorOf(tenantId), id, { historyLength: 0, replied: true });
    let last = options.after;
    const printNewEvents = async () => {
      for await (const event of readTimeline(reader, tenantId, id, last)) {
        printEvent(event);
        last = event.event.version;
      }
    };
    const task = await queries.execute(query);
    if (isTerminal(task.state.status)) return printNewEvents();
    for await (const changes of followTask({ reader, wakeups }, { tenantId, taskId: id, after: last }, signal)) {
      await printNewEvents();
      const [row] = await reader.rows(tenantId, [id]);
      if (changes.length > 0 && row !== undefined && isTerminal(row.state.status)) return printNewEvents();
    }
    signal.throwIfAborted();
  });
}

/** Reads the events of a task after the query that records the access. Errors: TaskNotFound. */
async function withEvents(
  id: string,
  { tenant }: TaskOptions,
  after: number,
  work: (events: AsyncIterable<StoredTaskEvent>, session: TaskSession) => Promise<void>,
): Promise<void> {
  await withTasks(async (session) => {
    await session.queries.execute(new GetTask(operatorOf(tenant), id, { historyLength: 0, replied: true }));
    await work(readTimeline(session.reader, tenant, id, after), session);
  });
}

function eventPrinter({ json }: TaskOptions): (event: StoredTaskEvent) => void {
  const format = new TimelineFormat();
  return (event) => (json ? printJson(eventJson(event)) : console.log(format.line(event)));
}
