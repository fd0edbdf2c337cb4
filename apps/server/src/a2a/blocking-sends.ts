import type { Principal } from '@app/domain';
import type { SentMessage } from '@app/tasks';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { CredentialRecheck } from '../edge/streams/credential-recheck.js';
import { ResponseLimit } from '../edge/streams/response-limit.js';

/** The request of a blocking send. */
interface BlockingCaller {
  readonly principal: Principal;
  readonly authorization: string | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** The sends in this process that wait for the outcome of their task. They end when the caller loses access or the server shuts down. */
@Injectable()
export class BlockingSends implements OnModuleDestroy {
  private readonly limit = new ResponseLimit({
    what: 'blocking sends',
    perCaller: 1_000,
    perServer: 5_000,
    // The message is stored before its send waits, so a repeat is safe.
    advice: 'the message is stored; send it again with the same messageId to wait for its task',
    retryAfterSeconds: 1,
  });
  /** One controller per send: a single signal for all of them would keep every listener that was ever added. */
  private readonly waiting = new Set<AbortController>();

  constructor(private readonly recheck: CredentialRecheck) {}

  /**
   * Waits until the task of a sent message has ended or requires input. Errors: Overloaded; Unauthenticated or
   * TaskNotFound if the caller has lost access.
   */
  async waitForOutcome(caller: BlockingCaller, { taskId, head, follower }: SentMessage): Promise<void> {
    const { principal, authorization, signal } = caller;
    const release = this.limit.admit(principal);
    const { owner, ring } = head.state;
    const response = { authorization, task: { taskId, tenantId: principal.tenantId, owner, ring } };
    try {
      await this.recheck.runWithAccess(response, signal, async (stop) => {
        this.waiting.add(stop);
        await follower.untilOutcome(stop.signal).finally(() => this.waiting.delete(stop));
      });
    } finally {
      release();
    }
    // The outcome may arrive between two rounds of the recheck.
    await this.recheck.requireAccess(response);
  }

  onModuleDestroy(): void {
    this.limit.close();
    for (const stop of this.waiting) stop.abort(this.limit.shuttingDown());
  }
}
