import type { Loss } from '@app/domain';

/** A run ended without an outcome and without an error of its agent. The message is the cause, which is recorded. */
export class AttemptLost extends Error {
  constructor(
    cause: string,
    readonly loss: Pick<Loss, 'counted' | 'ownProcess'> & {
      readonly reason: 'process-ended' | 'timed-out' | 'released';
    },
  ) {
    super(cause);
    this.name = 'AttemptLost';
  }
}
