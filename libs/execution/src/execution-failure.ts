import { Injectable, Logger } from '@nestjs/common';

/** A failure that no caller receives, so that it can only be logged. */
export interface ExecutionFailure {
  readonly message: string;
  readonly error: unknown;
  readonly taskId?: string;
  readonly runId?: string;
}

/** Logs the failures of the execution. */
@Injectable()
export class FailureLog {
  private readonly logger = new Logger('execution');

  report(failure: ExecutionFailure): void {
    this.logger.error(failure);
  }
}
