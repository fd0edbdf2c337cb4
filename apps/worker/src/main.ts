import 'reflect-metadata';
import { readConfig } from '@app/config';
import { formatCount } from '@app/domain';
import { runProcess } from '@app/process';
import { startWorker } from './worker.js';

await runProcess(
  'worker',
  () => startWorker(readConfig()),
  ({ id, agents, concurrency }) =>
    process.argv.includes('--json')
      ? JSON.stringify({ worker: id, agents, concurrency })
      : `Acta worker ${id} runs ${agents.join(', ')}, up to ${formatCount(concurrency, 'run')} at a time`,
);
