import { isTerminal } from '@app/domain';
import { followTask, GetTask, type StoredTaskEvent } from '@app/tasks';
import { Command } from 'commander';
import { integerBetween, JSON_OPTION, type TaskOptions, TENANT_OPTION, TIMEOUT_OPTION } from '../options.js';
import { printJson, sanitizeForTerminal, shorten, table } from '../output/terminal.js';
import { ACTOR_WIDTH, describeActor, eventJson, readTimeline, summarize, TimelineFormat } from '../output/timeline.js';
import { warnIfUnclaimed } from '../output/unclaimed-warning.js';
import { operatorOf } from '../session/database-session.js';
import { type TaskSession, withTasks } from '../session/task-session.js';
import { timeLimit, withoutOutcome } from '../session/time-limit.js';

const COMMAND_WIDTH = 44;

/** Creates the commands that print the events of one task. With `--json`, they print one event per line. */
export function taskEventCommands(): Command[] {
  const after = ['--after <version>', 'only events after this version', integerBetween(0, 2 ** 31 - 1), 0] as const;
  return [
    new Command('events')
      .argument('<id>')
      .description(
        'Print the events of a task with their actors, commands and hashes; --json adds ids and the complete content.',
      )
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
      .option(...TIMEOUT_OPTION)
      .option(...JSON_OPTION)
      .action(watch),
  ];
}

type AfterOptions = TaskOptions & { readonly after: number };
type WatchOptions = AfterOptions & { readonly timeout?: number };

async function printEvents(id: string, options: AfterOptions): Promise<void> {
  const rows: string[][] = [];
  await withEvents(id, options, options.after, async (events) => {
    for await (const event of events) {
      if (options.json) printJson(eventJson(event));
      else rows.push(rowOf(event));
    }
  });
  if (options.json) return;
  const headings = ['VERSION', 'RECORDED AT', 'TYPE', 'ACTOR', 'COMMAND', 'HASH', 'SUMMARY'];
  for (const line of table(headings, rows)) console.log(line);
}

function rowOf({ stored, event }: StoredTaskEvent): string[] {
  const hash = stored.hash.toString('hex').slice(0, 16);
  const actor = shorten(describeActor(stored), ACTOR_WIDTH);
  const command = shorten(sanitizeForTerminal(stored.command_id), COMMAND_WIDTH);
  return [String(event.version), event.recordedAt, event.type, actor, command, hash, summarize(event)];
}

async function watch(id: string, options: WatchOptions): Promise<void> {
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
    const current = async () => (await reader.rows(tenantId, [id]))[0]?.state;
    const cancelWarning = warnIfUnclaimed(current);
    const limit = timeLimit(options.timeout);
    const until = limit === null ? signal : AbortSignal.any([signal, limit]);
    try {
      for await (const changes of followTask({ reader, wakeups }, { tenantId, taskId: id, after: last }, until)) {
        await printNewEvents();
        const state = await current();
        if (changes.length > 0 && state !== undefined && isTerminal(state.status)) return printNewEvents();
      }
    } finally {
      cancelWarning();
    }
    signal.throwIfAborted();
    if (limit?.aborted === true) throw new Error(withoutOutcome(id, (await current()) ?? task.state));
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
