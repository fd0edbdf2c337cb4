import { DomainError, type Principal } from '@app/domain';

interface ResponseLimitOptions {
  /** What is counted, as a plural noun for error messages. */
  readonly what: string;
  readonly perCaller: number;
  readonly perServer: number;
  /** What a rejected client should do. */
  readonly advice: string;
  readonly retryAfterSeconds: number;
}

/** Limits how many long-lived responses of one kind this process has open, for each caller and in total. */
export class ResponseLimit {
  private readonly countByCaller = new Map<string, number>();
  private count = 0;
  private closing = false;

  constructor(private readonly options: ResponseLimitOptions) {}

  /** Counts one more response, and returns the function that releases it. Errors: Overloaded. */
  admit({ tenantId, subject }: Principal): () => void {
    const { what, perCaller, perServer } = this.options;
    if (this.closing) throw this.shuttingDown();
    const caller = `${tenantId}\n${subject}`;
    const ofCaller = this.countByCaller.get(caller) ?? 0;
    if (ofCaller >= perCaller) throw this.overloaded(`this caller has ${perCaller} ${what}, which is the limit`);
    if (this.count >= perServer) throw this.overloaded(`the server has ${perServer} ${what}, which is the limit`);
    this.count += 1;
    this.countByCaller.set(caller, ofCaller + 1);
    return () => this.release(caller);
  }

  /** Rejects every response from now on. */
  close(): void {
    this.closing = true;
  }

  get isClosing(): boolean {
    return this.closing;
  }

  shuttingDown(): DomainError {
    return this.overloaded('the server is shutting down');
  }

  private release(caller: string): void {
    this.count -= 1;
    const left = this.countByCaller.get(caller)! - 1;
    if (left === 0) this.countByCaller.delete(caller);
    else this.countByCaller.set(caller, left);
  }

  private overloaded(reason: string): DomainError {
    const { advice, retryAfterSeconds } = this.options;
    return new DomainError('Overloaded', `${reason}; ${advice}`, { retryAfterSeconds });
  }
}
