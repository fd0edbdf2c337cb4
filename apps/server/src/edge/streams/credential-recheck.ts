import { Authenticator } from '@app/access';
import { canAccess, DomainError, taskNotFound } from '@app/domain';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';

/** How long a response may continue after its credential is revoked. */
const RECHECK_MS = 5_000;

/** The task that a response shows, with what decides whether the caller can access it. */
export interface VisibleTask {
  readonly taskId: string;
  readonly tenantId: string;
  readonly owner: string;
  readonly ring: string;
}

/** A stream, a blocking send or a waiting claim. */
interface LongLivedResponse {
  /** The `Authorization` header of the request. */
  readonly authorization: string | undefined;
  /** Absent for a response that shows no task. */
  readonly task?: VisibleTask;
}

/** Checks periodically that the callers of long-lived responses still have access, and ends the responses that lost it. */
@Injectable()
export class CredentialRecheck implements OnModuleDestroy {
  private readonly watched = new Map<LongLivedResponse, (error: DomainError) => void>();
  private readonly timer = setInterval(() => void this.checkAll(), RECHECK_MS).unref();
  private isChecking = false;

  constructor(private readonly authenticator: Authenticator) {}

  /** Calls `onAccessLost` once the caller has lost access. Returns the function that ends the watch. */
  watch(response: LongLivedResponse, onAccessLost: (error: DomainError) => void): () => void {
    this.watched.set(response, onAccessLost);
    return () => this.watched.delete(response);
  }

  /** Errors: Unauthenticated, or TaskNotFound if the caller can no longer access the task. */
  async requireAccess(response: LongLivedResponse): Promise<void> {
    const error = await this.findLostAccess(response);
    if (error !== null) throw error;
  }

  /**
   * Runs `work` while the caller has access. Its controller aborts when the client disconnects or loses access. Errors:
   * Unauthenticated, TaskNotFound.
   */
  async runWithAccess<T>(
    response: LongLivedResponse,
    client: AbortSignal,
    work: (stop: AbortController) => Promise<T>,
  ): Promise<T> {
    const stop = new AbortController();
    let lostAccess = null as DomainError | null;
    const unwatch = this.watch(response, (error) => {
      lostAccess = error;
      stop.abort(error);
    });
    const onDisconnect = () => stop.abort(client.reason);
    if (client.aborted) onDisconnect();
    client.addEventListener('abort', onDisconnect, { once: true });
    try {
      const result = await work(stop);
      if (lostAccess !== null) throw lostAccess;
      return result;
    } finally {
      unwatch();
      client.removeEventListener('abort', onDisconnect);
    }
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async findLostAccess({ authorization, task }: LongLivedResponse): Promise<DomainError | null> {
    try {
      const principal = await this.authenticator.revalidate(authorization);
      return task === undefined || canAccess(principal, task) ? null : taskNotFound(task.taskId);
    } catch (error) {
      // A key that cannot be looked up at the moment is not a revoked key.
      return DomainError.is(error, 'Unauthenticated') ? error : null;
    }
  }

  private async checkAll(): Promise<void> {
    // A round can take longer than the interval while the database does not respond.
    if (this.isChecking) return;
    this.isChecking = true;
    for (const [response, onAccessLost] of this.watched) {
      const error = await this.findLostAccess(response);
      if (error !== null) onAccessLost(error);
    }
    this.isChecking = false;
  }
}
