import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

const agent = (name, run) => ({
  name,
  description: `The agent ${name}`,
  version: '1.0.0',
  skills: [{ id: name, name, description: `does what ${name} does`, tags: ['test'] }],
  retry: { attempts: 2, backoffMs: 20 },
  run,
});

const block = (ms) => {
  for (const end = Date.now() + ms; Date.now() < end;);
};

/** Agents that damage their process. Each is in a module of its own, which names it. */
export const AGENTS = {
  exits: agent('exits', async () => process.exit(3)),
  throws: agent('throws', async () => {
    setTimeout(() => {
      throw new Error('in a timer');
    });
    await sleep(60_000);
  }),
  blocks: agent('blocks', async () => block(60_000)),
  grows: agent('grows', async (ctx) => {
    const kept = [];
    const isHeap = ctx.text === 'heap';
    for (let mebibytes = 0; mebibytes < 4_096; mebibytes += 8) {
      kept.push(isHeap ? Array.from({ length: 1_048_576 }, (_, n) => n + 0.5) : Buffer.alloc(8_388_608, 1));
      await sleep(1);
    }
  }),
  /** Ends its process for the text `poison`, and otherwise waits for a moment so that many runs are in the process. */
  poison: agent('poison', async (ctx) => {
    await sleep(50, undefined, { signal: ctx.signal });
    if (ctx.text === 'poison') process.exit(1);
    await ctx.artifact({ parts: [{ text: `after attempt ${ctx.attempt}` }] });
  }),
  /** Starts a process of its own, reports its id, and blocks. */
  parent: agent('parent', async (ctx) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], { stdio: 'ignore' });
    await ctx.working(`${process.pid} ${child.pid}`);
    // The status is sent before the process is blocked.
    await sleep(20);
    block(60_000);
  }),
  environment: agent('environment', (ctx) => ctx.complete(JSON.stringify(process.env))),
};
