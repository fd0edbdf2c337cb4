import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

let starts = 0;

/** Blocks its process, or breaks the protocol of its process. Other texts count the runs that have started. */
export default {
  name: 'misbehaving',
  description: 'Blocks its process, or writes into the pipe of its process',
  version: '1.0.0',
  skills: [{ id: 'misbehave', name: 'Misbehave', description: 'misbehaves', tags: ['test'] }],
  retry: { attempts: 1, backoffMs: 1 },
  async run(ctx) {
    const [word, argument] = ctx.text.split(/ (.*)/);
    switch (word) {
      case 'block': {
        await ctx.working('blocking');
        await sleep(100);
        for (const end = Date.now() + Number(argument); Date.now() < end;);
        return ctx.complete('unblocked');
      }
      case 'write':
        writeSync(3, `${argument.replace('RUN', ctx.lease.runId)}\n`);
        return sleep(60_000, undefined, { signal: ctx.signal });
      default:
        starts += 1;
        return ctx.complete(`start ${starts}`);
    }
  },
};
