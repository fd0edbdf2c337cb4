import { DomainError, type Principal, taskNotFound, type TaskView, textOf } from '@app/domain';
import type { SentMessage } from '@app/tasks';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { CallerRecheck } from '../edge/streams/credential-recheck.js';
import { PerCaller } from '../edge/streams/per-caller.js';

/** Who waits, and until when. */
export interface Waiter {
  readonly principal: Principal;
  readonly authorization: string | undefined;
  readonly signal: AbortSignal;
}

/** Requests that may wait for outcomes in this process. */
const HELD_PER_CALLER = 1_000;
const HELD = 5_000;

/**
 * Sends that wait for an outcome: capped, for each caller and for the server; let go with a hint when the server shuts
 * down, and refused when their credential or ring has gone meanwhile.
 */
@Injectable()
export class HeldRequests implements OnModuleDestroy {
  private readonly held = new PerCaller();
  /** One for each request that waits; a signal of the whole server would remember all that ever listened to it. */
  private readonly waiting = new Set<AbortController>();
  private draining = false;

  constructor(private readonly recheck: CallerRecheck) {}

  /**
   * The task as it is, or, for a send that waits, once it has an outcome. Errors: Overloaded, Unauthenticated or
   * TaskNotFound for a caller that may have it no more, and InvalidAgentResponse for whoever waited for an agent that broke
   * the contract.
   */
  async answer(
    waiter: Waiter,
    sent: SentMessage,
    options: { readonly returnImmediately: boolean; readonly historyLength?: number },
  ): Promise<TaskView> {
    const { taskId, follower } = sent;
    try {
      if (!options.returnImmediately) await this.hold(waiter, sent);
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

  private async hold({ principal, authorization, signal }: Waiter, { taskId, head, follower }: SentMessage) {
    const release = this.admit(principal);
    const { owner, ring } = head.state;
    const answer = { authorization, task: { taskId, tenantId: principal.tenantId, owner, ring } };
    const stop = new AbortController();
    const unwatch = this.recheck.watch(answer, (why) => stop.abort(why));
    const leave = () => stop.abort(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    this.waiting.add(stop);
    try {
      await follower.untilOutcome(stop.signal);
    } finally {
      unwatch();
      signal.removeEventListener('abort', leave);
      this.waiting.delete(stop);
      release();
    }
    // The outcome may come between two rounds of the recheck.
    await this.recheck.require(answer);
  }

  private admit(principal: Principal): () => void {
    if (this.draining) throw shuttingDown();
    if (this.held.of(principal) >= HELD_PER_CALLER) throw full(`${HELD_PER_CALLER} sends of this caller wait already`);
    if (this.waiting.size >= HELD) throw full('as many sends wait as the server takes');
    return this.held.add(principal);
  }
}

const invalidResponse = ({ taskId, statusMessage }: TaskView) =>
  new DomainError('InvalidAgentResponse', textOf(statusMessage ?? { parts: [] }) || 'invalid agent response', {
    taskId,
  });

const full = (why: string) =>
  overloaded(`${why}; the message is taken in: send the same one again later to wait for it`);

const shuttingDown = () => overloaded('the server is shutting down; send the same message again');

/** Safe to send again: the message was taken in, and the replay waits for its task. */
const overloaded = (why: string) => new DomainError('Overloaded', why, { retryAfterSeconds: 1 });
