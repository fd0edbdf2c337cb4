import { Logger } from '@nestjs/common';

/**
 * Starts a process, prints its startup text on stdout, and runs until SIGTERM or SIGINT, also one that npm got. Then it closes the process and
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
    const close = () => {
      if (isClosing) return;
      isClosing = true;
      running.close().then(() => process.exit(0), exitWithError);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, close);
    closeWithNpm(close);
    // After the signals are handled: a supervisor may stop the process as soon as it has read the text.
    console.log(startupText(running));
  } catch (error) {
    exitWithError(error);
  }
}

/**
 * npm sends its signals to the shell between it and this process, and the shell ends without passing them on. The process then gets
 * a different parent.
 */
function closeWithNpm(close: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    close();
  }, PARENT_CHECK_MS);
  timer.unref();
}

const PARENT_CHECK_MS = 250;

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
