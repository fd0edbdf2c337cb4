/** A message that a client sent, and whether it was told that it is in. */
export interface SentMessage {
  readonly messageId: string;
  readonly text: string;
  /** Whether it gave its task a webhook. */
  readonly webhook: boolean;
  taskId: string | null;
  acknowledged: boolean;
}

/** What may rightly have become of a task. */
export interface Expectation {
  /** Texts of which the answer may be the capitals. */
  readonly texts: string[];
  mayBeCanceled: boolean;
  mayWait: boolean;
}

/** What a client saw of a task's stream, over all the connections that it took. */
export interface Watched {
  readonly taskId: string;
  /** Version of the first snapshot; 0 before it. */
  from: number;
  /** Versions of the updates after it, as they came. */
  readonly ids: number[];
  ended: boolean;
}

/** What the clients of a storm were told. The record is held to it afterwards. */
export class Journal {
  readonly sent: SentMessage[] = [];
  readonly tasks = new Map<string, Expectation>();
  readonly watched: Watched[] = [];
  /** Ends that clients were told of. */
  readonly told: { readonly taskId: string; readonly state: string }[] = [];
  readonly violations: string[] = [];

  expect(taskId: string, text: string): Expectation {
    const known = this.tasks.get(taskId);
    if (known !== undefined) return known;
    const expectation = { texts: [text], mayBeCanceled: false, mayWait: false };
    this.tasks.set(taskId, expectation);
    return expectation;
  }
}

export const isOver = (state: string): boolean =>
  ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'].some((end) => state === `TASK_STATE_${end}`);
