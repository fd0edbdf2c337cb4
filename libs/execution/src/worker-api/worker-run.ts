import {
  derivedId,
  DomainError,
  type Message,
  type MessageRequest,
  type Principal,
  type RetryPolicy,
  type RunOutput,
  type TaskState,
} from '@app/domain';
import { RELEASED, retryAfterAttempt } from '../queue/retry-policy.js';

/** A message from a remote worker, which has no id yet. */
export type WorkerMessageInput = Pick<Message, 'parts' | 'metadata'>;

export type WorkerOutput =
  { readonly type: 'working'; readonly message?: WorkerMessageInput } | Extract<RunOutput, { type: 'artifact' }>;

export interface WorkerOutcome {
  /** `retry`: try again later. `release`: a different worker continues immediately, and no attempt is used. */
  readonly type:
    'complete' | 'fail' | 'reject' | 'requireInput' | 'requireAuth' | 'reply' | 'canceled' | 'retry' | 'release';
  readonly message?: WorkerMessageInput;
}

/** A run as a remote worker receives it. Every later call presents both generations and an increasing `seq`. */
export interface WorkerRun {
  readonly runId: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly ring: string;
  readonly agent: string;
  readonly attempt: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly leaseMs: number;
  /** Version of the task. The worker has its messages up to this version. */
  readonly version: number;
  /** The message to process. */
  readonly message: Message;
  /** The request that brought it. Its trace context is that of the turn. */
  readonly request: MessageRequest;
  /** All other messages, oldest first. */
  readonly history: readonly Message[];
}

/** What identifies one write of a remote worker. */
export interface WorkerWrite {
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly seq: number;
  /** Version of the newest message that the worker has. */
  readonly readThrough?: number;
}

/** The response to each call about a run. */
export interface WorkerResponse {
  readonly version: number;
  readonly status: TaskState['status'];
  readonly cancelRequested: boolean;
  /** Duration of the lease since its last renewal (by a claim or heartbeat); 0 after the run has ended. */
  readonly leaseMs: number;
  /** Messages of the client after `readThrough`. */
  readonly messages: readonly {
    readonly version: number;
    readonly message: Message;
    readonly request: MessageRequest;
  }[];
}

/** Converts one output of a publish. `index` is its position in the publish. */
export function toRunOutput(output: WorkerOutput, runId: string, seq: number, index: number): RunOutput {
  switch (output.type) {
    case 'artifact':
      return output;
    case 'working': {
      const message = toMessage(output.message, runId, seq, index);
      return message === undefined ? { type: 'status' } : { type: 'status', message };
    }
  }
}

/** Converts the outcome of a turn. `now` is the database time in milliseconds since 1970, which only a retry needs. */
export function toRunOutcome(
  outcome: WorkerOutcome,
  runId: string,
  seq: number,
  attempts: number,
  policy: RetryPolicy,
  now: number,
): RunOutput {
  const message = toMessage(outcome.message, runId, seq, 0);
  const { type } = outcome;
  switch (type) {
    case 'requireInput':
      return { type: 'input-required', message: message! };
    case 'requireAuth':
      return { type: 'auth-required', message: message! };
    case 'reply':
      return { type: 'reply', message: message! };
    case 'retry':
      return { type: 'lost', reason: 'retryable-error', retry: retryAfterAttempt(policy, attempts, now) };
    case 'release':
      return { type: 'lost', reason: 'released', retry: RELEASED };
    case 'complete':
    case 'fail':
    case 'reject':
    case 'canceled':
      return message === undefined ? { type } : { type, message };
  }
}

/** The message id derives from the write, so that a repeated write has the same message. */
function toMessage(
  input: WorkerMessageInput | undefined,
  runId: string,
  seq: number,
  index: number,
): Message | undefined {
  if (input === undefined) return undefined;
  return { messageId: derivedId('worker-message', runId, seq, index), role: 'agent', ...input };
}

/** Returns the message of a task that fails because its worker's output is invalid, or because no worker can receive it. */
export const failureMessage = (text: string, runId: string): Message => ({
  messageId: `${runId}:failure`,
  role: 'agent',
  parts: [{ text }],
});

/** Returns the name of a remote worker in the event log. */
export const workerNameOf = ({ subject }: Principal): string => `remote:${subject}`;

/** Errors: Forbidden. */
export function requireWorker({ role }: Principal): void {
  if (role === 'worker') return;
  throw new DomainError(
    'Forbidden',
    'the caller\'s key is not a worker key; create one with "acta keys create --worker"',
    {},
  );
}
