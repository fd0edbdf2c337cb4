import type { ArtifactContent, Message } from '../content.js';
import type { LossReason, UpstreamTask } from './task.events.js';

/** A run taken in the same breath as the message that it answers. */
export interface Claim {
  readonly runId: string;
  readonly worker: string;
}

/** A worker's right to write: every write of a run carries it. */
export interface Fence {
  readonly runId: string;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
}

/** What an agent does, in the order in which it did it. */
export type RunOutput =
  | { readonly type: 'status'; readonly message?: Message; readonly upstream?: UpstreamTask }
  | {
      readonly type: 'artifact';
      readonly artifactId: string;
      readonly artifact: ArtifactContent;
      readonly append: boolean;
      readonly last: boolean;
    }
  | { readonly type: 'input-required'; readonly message: Message }
  | { readonly type: 'auth-required'; readonly message: Message }
  | { readonly type: 'complete'; readonly message?: Message }
  | { readonly type: 'fail'; readonly message?: Message; readonly invalid?: boolean }
  | { readonly type: 'reject'; readonly message?: Message }
  | { readonly type: 'reply'; readonly message: Message }
  | { readonly type: 'canceled'; readonly message?: Message }
  | { readonly type: 'lost'; readonly reason: LossReason; readonly retry: Retry };

/** A webhook that is to be told of a task, without its secrets: those bypass deciding and the record. */
export interface PushTarget {
  readonly configId: string;
  /** Whose shapes it is told in. */
  readonly protocolVersion: string;
  readonly url: string;
}

/** What follows a lost run. `notBefore` already has the backoff and its jitter: randomness is an argument. */
export interface Retry {
  readonly maxAttempts: number;
  readonly notBefore: string;
}

/** Imperative: what someone wants of a task. Time and ids are arguments, so that deciding is pure. */
export type TaskCommand =
  | {
      readonly type: 'SubmitTask';
      readonly contextId: string;
      readonly ring: string;
      readonly owner: string;
      readonly agent: string;
      readonly acknowledged: boolean;
      readonly message: Message;
      readonly push?: PushTarget;
      readonly claim?: Claim;
    }
  | { readonly type: 'AddMessage'; readonly message: Message; readonly push?: PushTarget; readonly claim?: Claim }
  | { readonly type: 'ResumeTask'; readonly claim?: Claim }
  | { readonly type: 'ClaimRun'; readonly claim: Claim }
  | {
      readonly type: 'RecordRun';
      readonly fence: Fence;
      readonly seq: number;
      /** Version of the newest message that the agent has been given. */
      readonly readThrough: number;
      readonly outputs: readonly RunOutput[];
    }
  | { readonly type: 'LoseRun'; readonly fence: Fence; readonly reason: LossReason; readonly retry: Retry }
  | {
      readonly type: 'CancelTask';
      readonly policy: 'fence' | 'holder-only';
      readonly deadline: string;
      /** Presented by a holder under `holder-only`. */
      readonly holder?: Fence & { readonly worker: string };
    }
  | { readonly type: 'EnforceCancel'; readonly now: string }
  | { readonly type: 'SetPushConfig'; readonly push: PushTarget }
  | { readonly type: 'DeletePushConfig'; readonly configId: string };
