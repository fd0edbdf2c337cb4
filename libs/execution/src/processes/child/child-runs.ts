import type { Agent } from '../../agents/agent.contract.js';
import type { LineChannel } from '../channel/line-channel.js';
import type { FromAgent, ToAgent } from '../channel/protocol.js';
import { ChildRun } from './child-run.js';

type RunMessage = Extract<ToAgent, { readonly run: string }>;

/** The runs of an agent process. */
export class ChildRuns {
  private readonly runs = new Map<string, ChildRun>();
  /** Runs that have arrived completely and whose agents have not started. */
  private ready: ChildRun[] = [];
  private isHeld = false;

  constructor(
    private readonly channel: LineChannel<FromAgent, ToAgent>,
    private readonly agents: () => readonly Agent[],
  ) {}

  /** Starts no more runs until `resume`. */
  hold(): void {
    this.isHeld = true;
  }

  resume(): void {
    this.isHeld = false;
    this.startReceived();
  }

  receive(message: RunMessage): void {
    if (message.type === 'start') {
      const run = new ChildRun(message, this.channel, () => this.runs.delete(message.run));
      this.runs.set(message.run, run);
      if (message.partial) run.acknowledge();
      else this.ready.push(run);
      return;
    }
    const run = this.runs.get(message.run);
    if (run === undefined) return;
    switch (message.type) {
      case 'history':
        run.addHistory(message.messages);
        if (message.last) this.ready.push(run);
        else run.acknowledge();
        return;
      case 'message':
        run.addMessage(message.version, message.sent);
        return run.acknowledge();
      case 'abort':
        return run.abort(message.reason);
      case 'drop':
        this.ready = this.ready.filter((waiting) => waiting !== run);
        this.runs.delete(message.run);
        return;
      case 'ack':
        return run.onAcknowledged(message.count);
      case 'failed':
        return run.onFailed(message.error);
    }
  }

  /** Starts the runs that were received together. They are reported first, because an agent may block the process. */
  startReceived(): void {
    if (this.isHeld || this.ready.length === 0) return;
    const starting = this.ready;
    this.ready = [];
    this.channel.send({ type: 'started', runs: starting.map((run) => run.id) });
    this.channel.flush();
    for (const run of starting) run.start(this.agents());
  }
}
