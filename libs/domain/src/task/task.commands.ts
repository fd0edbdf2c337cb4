import type { ArtifactContent, Message } from '../content.js';
import type { SendRecord } from '../message-request.js';
import type { LossReason, RetirementReason, UpstreamTask } from './task.events.js';
import type { WebhookId } from './webhook-id.js';

/** The claim of a run, which may be appended together with the message that starts it. */
export interface Claim {
  readonly runId: string;
  readonly worker: string;
}

/** The fencing token of a run. Every write of the run presents it. */
export interface Fence {
  readonly runId: string;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
}

/** One output of an agent. */
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
  | ({ readonly type: 'lost' } & Loss);

/** A webhook of a task. Its secrets are stored apart from events, because events never contain secrets. */
export interface PushTarget extends WebhookId {
  /** The A2A version of its payloads. */
  readonly protocolVersion: string;
  readonly url: string;
}

/**
 * The retry after a lost run. `notBefore` (RFC 3339) includes the backoff and its jitter, because `decide` is pure. Null: it may
 * start immediately.
 */
export interface Retry {
  readonly maxAttempts: number;
  readonly notBefore: string | null;
}

/** Why a run ended without an outcome, and what follows. */
export interface Loss {
  readonly reason: LossReason;
  readonly retry: Retry;
  readonly cause?: string;
  /** Whether the run was an attempt; absent: it was, unless it was released. */
  readonly counted?: boolean;
  readonly ownProcess?: boolean;
}

/** The commands of a task. They contain times and ids, because `decide` is pure. */
export type TaskCommand =
  | {
      readonly type: 'SubmitTask';
      readonly contextId: string;
      readonly ring: string;
      readonly owner: string;
      readonly agent: string;
      readonly acknowledged: boolean;
      readonly message: Message;
      readonly request: SendRecord;
      readonly push?: PushTarget;
      readonly claim?: Claim;
    }
  | {
      readonly type: 'AddMessage';
      readonly message: Message;
      readonly request: SendRecord;
      readonly push?: PushTarget;
      readonly claim?: Claim;
    }
  | { readonly type: 'ResumeTask'; readonly claim?: Claim }
  | { readonly type: 'ClaimRun'; readonly claim: Claim }
  | {
      readonly type: 'RecordRun';
      readonly fence: Fence;
      readonly seq: number;
      /** Version of the newest message that the agent has received. */
      readonly readThrough: number;
      readonly outputs: readonly RunOutput[];
    }
  | ({ readonly type: 'LoseRun'; readonly fence: Fence } & Loss)
  | {
      readonly type: 'CancelTask';
      readonly policy: 'fence' | 'holder-only';
      readonly deadline: string;
      /** The run that the caller holds; required by `holder-only`. */
      readonly holder?: Fence & { readonly worker: string };
    }
  | { readonly type: 'EnforceCancel'; readonly now: string }
  | { readonly type: 'SetPushConfig'; readonly push: PushTarget }
  | ({ readonly type: 'DeletePushConfig'; readonly reason?: RetirementReason } & WebhookId);
