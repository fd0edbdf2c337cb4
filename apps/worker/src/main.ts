import 'reflect-metadata';
import { readConfig } from '@app/config';
import { runProcess } from '@app/process';
import { startWorker } from './worker.js';

await runProcess('worker', async () => {
  const worker = await startWorker(readConfig());
  const { id, agents, concurrency } = worker;
  console.log(
    process.argv.includes('--json')
      ? JSON.stringify({ worker: id, agents, concurrency })
      : `Acta worker ${id} runs ${agents.join(', ')}, up to ${concurrency} runs at a time`,
  );
  return worker;
});
