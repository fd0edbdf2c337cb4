import 'reflect-metadata';
import { readConfig } from '@app/config';
import { startWorker } from './worker.js';

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
