import type { Principal } from '@app/domain';
import type { WorkerClaims, WorkerRuns } from '@app/execution';
import { Acta, type Replica } from '../acta.js';
import { anAgent } from '../replica-agents.js';
import { aMember, aWorker } from '../tasks.js';

export const alice = aMember('alice');
export const worker = aWorker('worker');

type WantedRuns = Parameters<WorkerClaims['claim']>[1];

/** A replica whose agents `tester` and `other` only remote workers execute. `worker` has the agent `tester`. */
export class WorkerApi {
  private constructor(
    readonly acta: Acta,
    readonly replica: Replica,
  ) {}

  static async open(): Promise<WorkerApi> {
    const acta = await Acta.open();
    const agent = anAgent(undefined);
    return new WorkerApi(acta, await acta.replica({ agents: [agent, { ...agent, name: 'other' }] }));
  }

  get claims(): WorkerClaims {
    return this.replica.workerClaims;
  }

  get runs(): WorkerRuns {
    return this.replica.workerRuns;
  }

  claim(principal: Principal = worker, wanted: WantedRuns = {}) {
    return this.claims.claim(principal, wanted, new AbortController().signal);
  }

  /** Returns the event types of a task of `alice`. */
  async typesOf(taskId: string) {
    return (await this.replica.events(alice.tenantId, taskId)).map(({ type }) => type);
  }

  close(): Promise<void> {
    return this.acta.close();
  }
}
