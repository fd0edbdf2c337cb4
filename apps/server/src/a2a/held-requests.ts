import { DomainError, type Principal, taskNotFound, type TaskView, textOf } from '@app/domain';
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
  /** One for each request that waits; a signal of the whole server would remember all that ever listened to it. */
  private readonly waiting = new Set<AbortController>();
  private draining = false;

  /**
   * The task as it is, or, for a send that waits, once it has an outcome. Errors: Overloaded, and InvalidAgentResponse for
   * whoever waited for an agent that broke the contract.
   */
  async answer(principal: Principal, { taskId, follower }: SentMessage, options: AnswerOptions): Promise<TaskView> {
    try {
      if (!options.returnImmediately) {
        await this.hold(principal, options.signal, (stop) => follower.untilOutcome(stop));
      }
      const view = await follower.view(options.historyLength);
      if (view === null) throw taskNotFound(taskId);
      if (!options.returnImmediately && view.state.invalidResponse) throw invalidResponse(view);
      return view;
    } finally {
      follower.close();
    }
  }

  onModuleDestroy(): void {
    this.draining = true;
    for (const stop of this.waiting) stop.abort(shuttingDown());
  }

  private async hold(
    principal: Principal,
    client: AbortSignal,
    wait: (stop: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    if (this.draining) throw shuttingDown();
    const key = `${principal.tenantId}\n${principal.subject}`;
    const count = this.held.get(key) ?? 0;
    if (count >= HELD_PER_CALLER) throw overloaded(`more than ${HELD_PER_CALLER} sends of this caller wait already`);
    this.held.set(key, count + 1);
    const stop = new AbortController();
    const leave = () => stop.abort(client.reason);
    if (client.aborted) leave();
    client.addEventListener('abort', leave, { once: true });
    this.waiting.add(stop);
    try {
      await wait(stop.signal);
    } finally {
      client.removeEventListener('abort', leave);
      this.waiting.delete(stop);
      const left = this.held.get(key)! - 1;
      if (left === 0) this.held.delete(key);
      else this.held.set(key, left);
    }
  }
}

const invalidResponse = ({ taskId, statusMessage }: TaskView) =>
  new DomainError('InvalidAgentResponse', textOf(statusMessage ?? { parts: [] }) || 'invalid agent response', {
    taskId,
  });

const shuttingDown = () => overloaded('the server is shutting down; send the same message again');

/** Safe to send again: the message was taken in, and the replay waits for its task. */
const overloaded = (why: string) => new DomainError('Overloaded', why, { retryAfterSeconds: 1 });
