import { isTerminal } from '@app/domain';
import { followTask } from '@app/tasks';
import { GetTask } from '@app/tasks';
import { Command } from 'commander';
import { operatorOf } from '../session/database-session.js';
import { JSON_OPTION, type TaskOptions, TENANT_OPTION, wholeNumber } from '../options.js';
import { type TaskSession, withTasks } from '../session/task-session.js';
import { printJson, table } from '../output/terminal.js';
import { eventJson, gistOf, readTimeline, type TimelineEntry, TimelineFormat } from '../output/timeline.js';

/** The record of one task: as stored, as people read it, and as it grows. With `--json`, one event a line. */
export function recordCommands(): Command[] {
  const after = ['--after <version>', 'only what came after this version', wholeNumber(0, 2 ** 31 - 1), 0] as const;
  return [
    new Command('events')
      .argument('<id>')
      .description('Print the events of a task as stored, with actors, commands and hashes.')
      .option(...TENANT_OPTION)
      .option(...after)
      .option(...JSON_OPTION)
      .action(events),
    new Command('timeline')
      .argument('<id>')
      .description('Print what happened to a task, and when.')
      .option(...TENANT_OPTION)
      .option(...JSON_OPTION)
      .action(async (id: string, options: TaskOptions) => {
        const writer = writerFor(options);
        await withRecordOf(id, options, 0, async (entries) => {
          for await (const entry of entries) writer(entry);
        });
      }),
    new Command('watch')
      .argument('<id>')
      .description('Print what happens to a task until it has ended.')
      .option(...TENANT_OPTION)
      .option(...after)
      .option(...JSON_OPTION)
      .action(watch),
  ];
}

type AfterOptions = TaskOptions & { readonly after: number };

async function events(id: string, options: AfterOptions): Promise<void> {
  const rows: string[][] = [];
  await withRecordOf(id, options, options.after, async (entries) => {
    for await (const entry of entries) {
      if (options.json) printJson(eventJson(entry));
      else rows.push(rowOf(entry));
    }
  });
  if (options.json) return;
  for (const line of table(['VERSION', 'RECORDED AT', 'TYPE', 'EVENT ID', 'HASH', 'GIST'], rows)) console.log(line);
}

function rowOf({ stored, event }: TimelineEntry): string[] {
  const hash = stored.hash.toString('hex').slice(0, 16);
  return [String(event.version), event.recordedAt, event.type, stored.event_id, hash, gistOf(event)];
}

async function watch(id: string, options: AfterOptions): Promise<void> {
  const write = writerFor(options);
  await withRecordOf(id, options, options.after, async (_, { log, wakeups, signal, queries }) => {
    const { tenant: tenantId } = options;
    const query = new GetTask(operatorOf(tenantId), id, { historyLength: 0, replied: true });
    let last = options.after;
    const show = async () => {
      for await (const entry of readTimeline(log, tenantId, id, last)) {
        write(entry);
        last = entry.event.version;
      }
    };
    const ended = await queries.execute(query);
    if (isTerminal(ended.state.status)) return show();
    for await (const news of followTask({ log, wakeups }, { tenantId, taskId: id, after: last }, signal)) {
      await show();
      const head = await log.head(tenantId, id);
      if (news.length > 0 && head !== null && isTerminal(head.head.state.status)) return show();
    }
    signal.throwIfAborted();
  });
}

/** The record of a task that is there; reading it is an access like any other. Errors: TaskNotFound. */
async function withRecordOf(
  id: string,
  { tenant }: TaskOptions,
  after: number,
  work: (entries: AsyncIterable<TimelineEntry>, session: TaskSession) => Promise<void>,
): Promise<void> {
  await withTasks(async (session) => {
    await session.queries.execute(new GetTask(operatorOf(tenant), id, { historyLength: 0, replied: true }));
    await work(readTimeline(session.log, tenant, id, after), session);
  });
}

function writerFor({ json }: TaskOptions): (entry: TimelineEntry) => void {
  const format = new TimelineFormat();
  return (entry) => (json ? printJson(eventJson(entry)) : console.log(format.line(entry)));
}
