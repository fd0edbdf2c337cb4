/** A failure that no caller receives, so that it can only be logged. */
export interface ExecutionFailure {
  readonly message: string;
  readonly error: unknown;
  readonly taskId?: string;
  readonly runId?: string;
}
