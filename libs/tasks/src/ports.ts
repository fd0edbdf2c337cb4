import type { AgentProfile, Claim, RecordedEvent, UpstreamTask } from '@app/domain';
import type { TaskHead } from '@app/storage';

/** The agents of this server. `libs/execution` implements it. */
export abstract class AgentDirectory {
  abstract readonly defaultAgent: AgentProfile;
  abstract find(name: string): AgentProfile | undefined;
  abstract all(): readonly AgentProfile[];

  /**
   * Notifies the upstream agent that a task was canceled while no run was active, so that no run could do it. Not awaited
   * and tried once, because the task has ended in any case.
   */
  onCanceled(_agent: string, _upstream: UpstreamTask): void {}
}

/** A reserved run of this process, until it is started or released. */
export interface RunSlot {
  readonly claim: Claim;
  /** `events` are the events of the append that claimed the run. */
  start(run: { tenantId: string; taskId: string; head: TaskHead; events: readonly RecordedEvent[] }): void;
  release(): void;
}

/** Reserves runs of this process, so that the append of a message can also claim its run. `libs/execution` implements it. */
export abstract class RunSlots {
  /** Null: the agent has no free slot in this process. */
  abstract reserve(agent: string): RunSlot | null;
}

/** For a process that runs no agents. */
export class NoRunSlots extends RunSlots {
  override reserve(): null {
    return null;
  }
}
