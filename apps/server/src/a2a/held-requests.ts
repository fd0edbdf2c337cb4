import { DomainError, type Principal, taskNotFound, type TaskView } from '@app/domain';
import type { SentMessage } from '@app/tasks';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';

export interface AnswerOptions {
  readonly returnImmediately: boolean;
  readonly historyLength?: number;
  readonly signal: AbortSignal;
}

/** Requests that one caller may have waiting for outcomes in this process. */
const HELD_PER_CALLER = 1_000;

/** Sends that wait for an outcome: capped for each caller, and let go with a hint when the server shuts down. */
@Injectable()
export class HeldRequests implements OnModuleDestroy {
  private readonly held = new Map<string, number>();
  private readonly draining = new AbortController();

  /** The task as it is, or, for a send that waits, once it has an outcome. Errors: Overloaded. */
  async answer(principal: Principal, { taskId, follower }: SentMessage, options: AnswerOptions): Promise<TaskView> {
    try {
      if (!options.returnImmediately) {
        await this.hold(principal, (stop) => follower.untilOutcome(AbortSignal.any([options.signal, stop])));
      }
      const view = await follower.view(options.historyLength);
      if (view === null) throw taskNotFound(taskId);
      return view;
    } finally {
      follower.close();
    }
  }

  onModuleDestroy(): void {
    this.draining.abort(overloaded('the server is shutting down; send the same message again'));
  }

  private async hold(principal: Principal, wait: (stop: AbortSignal) => Promise<unknown>): Promise<void> {
    const key = `${principal.tenantId}\n${principal.subject}`;
    const count = this.held.get(key) ?? 0;
    if (count >= HELD_PER_CALLER) throw overloaded(`more than ${HELD_PER_CALLER} sends of this caller wait already`);
    this.held.set(key, count + 1);
    try {
      await wait(this.draining.signal);
    } finally {
      const left = this.held.get(key)! - 1;
      if (left === 0) this.held.delete(key);
      else this.held.set(key, left);
    }
  }
}

/** Safe to send again: the message was taken in, and the replay waits for its task. */
const overloaded = (why: string) => new DomainError('Overloaded', why, { retryAfterSeconds: 1 });
