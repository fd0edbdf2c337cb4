import { Logger } from '@nestjs/common';

/**
 * Runs a process until SIGTERM or SIGINT. Then it closes what `start` returned and exits with code 0. If `start` or `close`
 * throws, it prints one sentence on stderr and exits with code 1. `context` names the process in log lines.
 */
export async function runProcess(context: string, start: () => Promise<{ close(): Promise<void> }>): Promise<void> {
  logUnhandledRejections(context);
  try {
    const running = await start();
    let isClosing = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (isClosing) return;
        isClosing = true;
        running.close().then(() => process.exit(0), exitWithError);
      });
    }
  } catch (error) {
    exitWithError(error);
  }
}

/**
 * A promise that an agent rejects without a handler must not end the runs of all other agents. An exception outside of any
 * promise still ends the process, because its state is then unknown.
 */
function logUnhandledRejections(context: string): void {
  const logger = new Logger(context);
  process.on('unhandledRejection', (reason) => {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    logger.error({ message: 'unhandled promise rejection', error });
  });
}

function exitWithError(error: unknown): never {
  console.error(`acta: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
