import 'reflect-metadata';
import { readConfig } from '@app/config';
import { startWorker } from './worker.js';

// An agent that forgets a promise must not take every other run of the process along. What is thrown outside of any
// promise stays fatal: nobody knows what state it left.
process.on('unhandledRejection', (reason: unknown) => {
  const stack = reason instanceof Error ? reason.stack : String(reason);
  console.error(
    JSON.stringify({ level: 'error', context: 'worker', message: 'a promise was rejected and nobody looked', stack }),
  );
});

try {
  const worker = await startWorker(readConfig());
  console.log(
    process.argv.includes('--json')
      ? JSON.stringify({ worker: worker.id, agents: worker.agents, concurrency: worker.concurrency })
      : `Acta worker ${worker.id} runs ${worker.agents.join(', ')}, up to ${worker.concurrency} at a time`,
  );
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      worker.close().then(
        () => process.exit(0),
        (error: Error) => {
          console.error(`acta: ${error.message}`);
          process.exit(1);
        },
      );
    });
  }
} catch (error) {
  console.error(`acta: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
