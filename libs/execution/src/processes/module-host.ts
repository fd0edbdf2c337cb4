import type { AgentTurn } from '../turn/agent-turn.js';
import { AgentProcess, type AgentProcessOptions } from './agent-process.js';
import type { RemoteFunction, SentAgent } from './channel/protocol.js';

/** Number of processes with one run each that a module may have at a time. Starting many at once would slow down everything. */
const MAX_OWN = 2;

/** The processes of one agent module: one for all of its runs, and others for runs that may have ended a process before. */
export class ModuleHost {
  private shared: AgentProcess | null = null;
  private readonly processes = new Set<AgentProcess>();
  private readonly waiting: (() => void)[] = [];
  private freeOwn = MAX_OWN;
  private isClosed = false;

  constructor(
    private readonly path: string,
    private readonly options: AgentProcessOptions,
  ) {}

  /** Loads the module in its process, and returns its agents. */
  load(): Promise<readonly (SentAgent | null)[]> {
    return this.sharedProcess().loaded;
  }

  /** False while the process of the module does not respond. */
  get isResponsive(): boolean {
    return this.shared === null || this.shared.isEnding || this.shared.isResponsive;
  }

  /** Executes one turn, in a process of its own if an earlier run of it has lost its process. */
  async execute(agent: number, turn: AgentTurn, { ownProcess }: { readonly ownProcess: boolean }): Promise<void> {
    if (ownProcess) return this.executeInOwnProcess(agent, turn);
    await this.sharedProcess().execute(agent, turn);
  }

  async call(agent: number, name: RemoteFunction, args: readonly unknown[]): Promise<unknown> {
    return this.sharedProcess().call(agent, name, args);
  }

  /** Kills all processes of the module. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const process of this.processes) process.kill('agent process was stopped');
    await Promise.all([...this.processes].map((process) => process.ended));
  }

  private sharedProcess(): AgentProcess {
    if (this.shared === null || this.shared.isEnding) this.shared = this.startProcess();
    return this.shared;
  }

  private async executeInOwnProcess(agent: number, turn: AgentTurn): Promise<void> {
    if (this.freeOwn > 0) this.freeOwn -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      turn.signal.throwIfAborted();
      const process = this.startProcess();
      process.yieldToOthers();
      await process.execute(agent, turn).finally(() => process.kill('agent process has done its run'));
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.freeOwn += 1;
      else next();
    }
  }

  private startProcess(): AgentProcess {
    if (this.isClosed) throw new Error('the agent processes are stopped');
    const process: AgentProcess = new AgentProcess(this.path, this.options, () => {
      if (this.shared === process) this.shared = null;
      process.retire();
    });
    this.processes.add(process);
    void process.ended.then(() => {
      this.processes.delete(process);
      if (this.shared === process) this.shared = null;
    });
    return process;
  }
}
