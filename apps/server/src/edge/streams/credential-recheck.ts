import { Authenticator } from '@app/access';
import { canSee, DomainError, taskNotFound } from '@app/domain';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';

/** How long an answer may outlive its credential. */
const RECHECK_MS = 5_000;

/** What a caller may be told of as long as it sees it. */
export interface ToldTask {
  readonly taskId: string;
  readonly tenantId: string;
  readonly owner: string;
  readonly ring: string;
}

/** An answer that takes its time: with which credential it was asked for, and of which task it tells, if of one. */
export interface LongAnswer {
  readonly authorization: string | undefined;
  readonly task?: ToldTask;
}

/** Streams, and sends and claims that wait: asks again and again whether their callers may still have what comes. */
@Injectable()
export class CallerRecheck implements OnModuleDestroy {
  private readonly watched = new Map<LongAnswer, (why: DomainError) => void>();
  private readonly timer = setInterval(() => void this.endRefused(), RECHECK_MS).unref();
  private checking = false;

  constructor(private readonly authenticator: Authenticator) {}

  /** Calls `end` once the caller may have the answer no more, until it is given back what this gives. */
  watch(answer: LongAnswer, end: (why: DomainError) => void): () => void {
    this.watched.set(answer, end);
    return () => this.watched.delete(answer);
  }

  /** Unauthenticated or TaskNotFound when the caller may have the answer no more; null when it may. */
  async refusalOf({ authorization, task }: LongAnswer): Promise<DomainError | null> {
    try {
      const principal = await this.authenticator.revalidate(authorization);
      return task === undefined || canSee(principal, task) ? null : taskNotFound(task.taskId);
    } catch (error) {
      // Keys that cannot be looked up now are no reason to refuse.
      return DomainError.is(error, 'Unauthenticated') ? error : null;
    }
  }

  /** Errors: Unauthenticated or TaskNotFound, when the caller may have the answer no more. */
  async require(answer: LongAnswer): Promise<void> {
    const refusal = await this.refusalOf(answer);
    if (refusal !== null) throw refusal;
  }

  /** Does what takes its time; its signal aborts when nobody is left who may have it. Errors: Unauthenticated, TaskNotFound. */
  async during<T>(answer: LongAnswer, client: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const refused = new AbortController();
    const unwatch = this.watch(answer, (why) => refused.abort(why));
    try {
      const done = await work(AbortSignal.any([client, refused.signal]));
      refused.signal.throwIfAborted();
      return done;
    } finally {
      unwatch();
    }
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async endRefused(): Promise<void> {
    // While the database is silent, one round of questions is enough.
    if (this.checking) return;
    this.checking = true;
    for (const [answer, end] of this.watched) {
      const refusal = await this.refusalOf(answer);
      if (refusal !== null) end(refusal);
    }
    this.checking = false;
  }
}
