import {
  derivedId,
  DomainError,
  type Message,
  type Principal,
  retryAt,
  type RetryPolicy,
  type RunOutput,
  type TaskState,
} from '@app/domain';

/** What a remote worker says, before it has a message id. */
export type RemoteSaying = Pick<Message, 'parts' | 'metadata'>;

export type RemoteOutput =
  { readonly type: 'working'; readonly message?: RemoteSaying } | Extract<RunOutput, { type: 'artifact' }>;

export interface RemoteOutcome {
  /** `retry`: try again later; `release`: another worker goes on at once, and no attempt is used. */
  readonly type:
    'complete' | 'fail' | 'reject' | 'requireInput' | 'requireAuth' | 'reply' | 'canceled' | 'retry' | 'release';
  readonly message?: RemoteSaying;
}

/** A run as a remote worker gets it. Every later call presents both generations and a rising `seq`. */
export interface RemoteRun {
  readonly runId: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly ring: string;
  readonly agent: string;
  readonly attempt: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly leaseMs: number;
  /** Of the task; the worker has its messages up to here. */
  readonly version: number;
  readonly message: Message;
  /** Everything else that was said, oldest first. */
  readonly history: readonly Message[];
}

export interface RemoteWrite {
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly seq: number;
  /** Version of the newest message that the worker has. */
  readonly readThrough?: number;
}

/** What a worker must know after each call. */
export interface RemoteAnswer {
  readonly version: number;
  readonly status: TaskState['status'];
  readonly cancelRequested: boolean;
  /** How long the run is held from its last renewal on (a claim or heartbeat); 0 once it is over. */
  readonly leaseMs: number;
  /** Messages of the client after `readThrough`. */
  readonly messages: readonly { readonly version: number; readonly message: Message }[];
}

/** At once; what is released counts against no limit. */
export const HANDED_BACK = { maxAttempts: 1, notBefore: new Date(0).toISOString() };

/** What a publish says, as the record takes it. */
export function outputOf(output: RemoteOutput, runId: string, seq: number, at: number): RunOutput {
  if (output.type === 'artifact') return output;
  const message = messageOf(output.message, runId, seq, at);
  return message === undefined ? { type: 'status' } : { type: 'status', message };
}

/** The outcome of a turn, as the record takes it. `now`: by the database's clock, in milliseconds; for a retry. */
export function outcomeOf(
  outcome: RemoteOutcome,
  runId: string,
  seq: number,
  attempts: number,
  policy: RetryPolicy,
  now: number,
): RunOutput {
  const message = messageOf(outcome.message, runId, seq, 0);
  const { type } = outcome;
  switch (type) {
    case 'requireInput':
      return { type: 'input-required', message: message! };
    case 'requireAuth':
      return { type: 'auth-required', message: message! };
    case 'reply':
      return { type: 'reply', message: message! };
    case 'retry': {
      const notBefore = retryAt(now, attempts, policy, Math.random());
      return { type: 'lost', reason: 'retryable-error', retry: { maxAttempts: policy.attempts, notBefore } };
    }
    case 'release':
      return { type: 'lost', reason: 'released', retry: HANDED_BACK };
    case 'complete':
    case 'fail':
    case 'reject':
    case 'canceled':
      return message === undefined ? { type } : { type, message };
  }
}

/** Ids derive from the write, so that a repeated one says the same. */
function messageOf(saying: RemoteSaying | undefined, runId: string, seq: number, at: number): Message | undefined {
  return saying === undefined ? undefined : { messageId: derivedId('said', runId, seq, at), role: 'agent', ...saying };
}

/** What the task is told when what its worker said, or was to be given, cannot be. */
export const refusal = (text: string, runId: string): Message => ({
  messageId: `${runId}:refused`,
  role: 'agent',
  parts: [{ text }],
});

/** The name under which the record has a remote worker. */
export const workerOf = ({ subject }: Principal): string => `remote:${subject}`;

/** Errors: Forbidden. */
export function requireWorker({ role }: Principal): void {
  if (role !== 'worker') throw new DomainError('Forbidden', 'this needs a worker key (acta keys create --worker)', {});
}
