/** A message that a client sent, and whether a server acknowledged it. */
export interface SentMessage {
  readonly messageId: string;
  readonly text: string;
  /** Whether the message sets a webhook. */
  readonly webhook: boolean;
  taskId: string | null;
  acknowledged: boolean;
}

/** The allowed results of a task. */
export interface Expectation {
  /** The artifact must be one of these texts in upper case. */
  readonly texts: string[];
  mayBeCanceled: boolean;
  mayWait: boolean;
}

/** What a client received of a task's stream, over all its connections. */
export interface WatchedStream {
  readonly taskId: string;
  /** The version of the first snapshot; 0 before it. */
  from: number;
  /** The versions of the updates after the snapshot, in the order of their arrival. */
  readonly ids: number[];
  ended: boolean;
}

/** What the clients of a storm sent and received. It is compared with the event log afterwards. */
export class Journal {
  readonly sent: SentMessage[] = [];
  readonly tasks = new Map<string, Expectation>();
  readonly watched: WatchedStream[] = [];
  /** Terminal states that clients received. */
  readonly terminalStates: { readonly taskId: string; readonly state: string }[] = [];
  readonly violations: string[] = [];

  expect(taskId: string, text: string): Expectation {
    const existing = this.tasks.get(taskId);
    if (existing !== undefined) return existing;
    const expectation = { texts: [text], mayBeCanceled: false, mayWait: false };
    this.tasks.set(taskId, expectation);
    return expectation;
  }
}

/** Returns whether a v1.0 state is terminal. */
export const isTerminalState = (state: string): boolean =>
  ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'].some((terminal) => state === `TASK_STATE_${terminal}`);
