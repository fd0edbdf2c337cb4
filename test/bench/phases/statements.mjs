import { randomUUID } from 'node:crypto';
import { BOOTSTRAP_ADMIN } from '../../../dist/libs/access/src/index.js';
import { CancelTask, GetTask, ListTasks, SendMessage } from '../../../dist/libs/tasks/src/index.js';
import { openActa, recordQueries } from '../peers/in-process.mjs';

/** Counts the round trips to Postgres of each command and query. */
export async function countStatements(/** @type {string} */ databaseUrl) {
  const { commands, queries, close } = await openActa(databaseUrl);
  const message = (/** @type {string} */ text) => ({ messageId: randomUUID(), role: 'user', parts: [{ text }] });
  const send = async (/** @type {object} */ message, /** @type {string | undefined} */ taskId) => {
    const { follower, taskId: sentTo } = await commands.execute(
      new SendMessage(BOOTSTRAP_ADMIN, {
        message,
        request: { configuration: { returnImmediately: false } },
        acknowledged: false,
        ...(taskId === undefined ? {} : { taskId }),
      }),
    );
    await follower.untilOutcome();
    await follower.view();
    return sentTo;
  };
  try {
    const first = message('hello');
    const done = await send(first);
    const ask = () => send(message('ask'));
    /** @type {[string, (waiting: string) => Promise<unknown>][]} */
    const work = [
      ['SendMessage, new task', () => send(message('hello'))],
      ['SendMessage, next turn', (waiting) => send(message('hello again'), waiting)],
      ['SendMessage, exact replay', () => send(first)],
      ['GetTask', () => queries.execute(new GetTask(BOOTSTRAP_ADMIN, done))],
      ['ListTasks, one page', () => queries.execute(new ListTasks(BOOTSTRAP_ADMIN, {}))],
      ['CancelTask', (waiting) => commands.execute(new CancelTask(BOOTSTRAP_ADMIN, waiting))],
    ];
    const counted = [];
    for (const [command, run] of work) {
      // The minimum of several tries, because periodic work of the server adds queries to some of them.
      const tries = [];
      for (let nth = 0; nth < 5; nth += 1) {
        const waiting = await ask();
        tries.push(await recordQueries(() => run(waiting)));
      }
      const [fewest] = tries.toSorted((a, b) => a.length - b.length);
      const names = fewest.map(({ name }) => name);
      counted.push({ command, roundTrips: names.length, names });
    }
    return counted;
  } finally {
    await close();
  }
}
