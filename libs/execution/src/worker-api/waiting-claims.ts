import { DomainError, type Principal } from '@app/domain';
import { TaskWakeups } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { filter, interval, merge, type Observable, type Subscription } from 'rxjs';
import { ExecutionOptions } from '../execution-options.js';

const RETRY_AFTER_SECONDS = 5;

/**
 * Claims that wait for tasks. Claims of one tenant for the same agents and rings find the same tasks, so they share a queue.
 * A wake-up goes to the first claim in the queue, and to the next one only if the first has found something. Otherwise each
 * new task would cause one query per waiting claim.
 */
@Injectable()
export class WaitingClaims {
  private readonly queues = new Map<string, ClaimQueue>();
  private readonly countByWorker = new Map<string, number>();
  private total = 0;

  constructor(
    private readonly wakeups: TaskWakeups,
    private readonly options: ExecutionOptions,
  ) {}

  /**
   * Calls `tryClaim` immediately, and again each time it is the claim's turn, until it returns something. Returns an empty
   * array when the signal aborts. Errors: Overloaded.
   */
  async untilFound<T>(
    worker: Principal,
    agents: readonly string[],
    signal: AbortSignal,
    tryClaim: () => Promise<T[]>,
  ): Promise<T[]> {
    this.requireCapacity(worker);
    // The claim is added to the queue before its first query, so that it gets the wake-up of a task that is queued meanwhile.
    const { queue, leave } = this.join(worker, agents);
    try {
      let found = await tryClaim();
      while (found.length === 0 && !signal.aborted) found = await queue.claimInTurn(signal, tryClaim);
      return found;
    } finally {
      leave();
    }
  }

  private requireCapacity(worker: Principal): void {
    const { perWorker, total } = this.options.waitingClaims;
    const ownCount = this.countByWorker.get(workerKey(worker)) ?? 0;
    if (ownCount >= perWorker) throw overloaded(`worker "${worker.subject}" already has ${perWorker} waiting claims`);
    if (this.total >= total) throw overloaded(`the server already has ${total} waiting claims`);
  }

  private join(worker: Principal, agents: readonly string[]): { queue: ClaimQueue; leave: () => void } {
    const key = workerKey(worker);
    const scope = JSON.stringify([worker.tenantId, agents.toSorted(), worker.rings.toSorted()]);
    const queue = this.queues.get(scope) ?? this.openQueue(agents);
    this.queues.set(scope, queue);
    queue.members += 1;
    this.countByWorker.set(key, (this.countByWorker.get(key) ?? 0) + 1);
    this.total += 1;
    const leave = () => {
      this.total -= 1;
      const remaining = this.countByWorker.get(key)! - 1;
      if (remaining === 0) this.countByWorker.delete(key);
      else this.countByWorker.set(key, remaining);
      queue.members -= 1;
      if (queue.members > 0) return;
      this.queues.delete(scope);
      queue.close();
    };
    return { queue, leave };
  }

  private openQueue(agents: readonly string[]): ClaimQueue {
    const queued = this.wakeups.queuedAgents.pipe(filter((agent) => agents.includes(agent)));
    return new ClaimQueue(merge(queued, interval(this.options.waitingClaims.pollMs)));
  }
}

/** Waiting claims that would find the same tasks. One claim at a time looks for tasks. */
class ClaimQueue {
  members = 0;
  private readonly waiting = new Set<() => void>();
  private wakeUpPending = false;
  private claiming = false;
  private readonly subscription: Subscription;

  constructor(wakeUps: Observable<unknown>) {
    this.subscription = wakeUps.subscribe(() => {
      this.wakeUpPending = true;
      this.startNext();
    });
  }

  close(): void {
    this.subscription.unsubscribe();
  }

  /** Waits for the claim's turn and calls `tryClaim`. Returns an empty array if the signal aborts first. */
  async claimInTurn<T>(signal: AbortSignal, tryClaim: () => Promise<T[]>): Promise<T[]> {
    if (!(await this.untilTurn(signal))) return [];
    // The next claim gets a turn if this one found something, because there may be more, and if this one failed or aborted.
    let passOn = true;
    try {
      if (signal.aborted) return [];
      const found = await tryClaim();
      passOn = found.length > 0;
      return found;
    } finally {
      if (passOn) this.wakeUpPending = true;
      this.claiming = false;
      this.startNext();
    }
  }

  /** Resolves to true when it is the claim's turn, and to false when the signal aborts first. */
  private untilTurn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const start = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        this.waiting.delete(start);
        resolve(false);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.add(start);
      this.startNext();
    });
  }

  private startNext(): void {
    const [first] = this.waiting;
    if (!this.wakeUpPending || this.claiming || first === undefined) return;
    this.waiting.delete(first);
    this.wakeUpPending = false;
    this.claiming = true;
    first();
  }
}

const workerKey = ({ tenantId, subject }: Principal) => `${tenantId}\n${subject}`;

const overloaded = (problem: string) =>
  new DomainError('Overloaded', `${problem}; claim again later`, { retryAfterSeconds: RETRY_AFTER_SECONDS });
