import type { AgentProfile, Claim, RecordedEvent, UpstreamTask } from '@app/domain';
import type { StreamHead } from '@app/storage';

/** The agents of this server; `libs/execution` loads them. */
export abstract class AgentDirectory {
  abstract readonly defaultAgent: AgentProfile;
  abstract find(name: string): AgentProfile | undefined;
  abstract all(): readonly AgentProfile[];

  /**
   * A task was canceled that another agent works on, and no run held it that could say so there. Not waited for, and tried
   * once: the task here has ended either way.
   */
  calledOff(_agent: string, _upstream: UpstreamTask): void {}
}

/** A place for one run in this process, kept until it is started or given back. */
export interface RunSlot {
  readonly claim: Claim;
  /** `events` are those of the append that claimed the run. */
  start(run: { tenantId: string; taskId: string; head: StreamHead; events: readonly RecordedEvent[] }): void;
  release(): void;
}

/** Lets whoever accepts a message run it here in the same transaction, when the agent has a free slot. */
export abstract class RunSlots {
  abstract reserve(agent: string): RunSlot | null;
}

/** For a process that only accepts work. */
export class NoRunSlots extends RunSlots {
  override reserve(): null {
    return null;
  }
}
