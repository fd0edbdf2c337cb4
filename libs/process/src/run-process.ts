import { Logger } from '@nestjs/common';

/**
 * Starts a process, prints its startup text on stdout, and runs until SIGTERM or SIGINT. Then it closes the process and
 * exits with code 0. If `start` or `close` throws, it prints one sentence on stderr and exits with code 1. `context` names
 * the process in log lines.
 */
export async function runProcess<T extends { close(): Promise<void> }>(
  context: string,
  start: () => Promise<T>,
  startupText: (running: T) => string,
): Promise<void> {
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
    // After the signals are handled: a supervisor may stop the process as soon as it has read the text.
    console.log(startupText(running));
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
