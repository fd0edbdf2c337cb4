import { endsTurn, type Message, type RunOutput } from '@app/domain';
import type { Agent } from '../../agents/agent.contract.js';
import { createAgentContext } from '../../turn/agent-context.js';
import type { MessageRequests } from '../../turn/conversation.js';
import { MessageQueue } from '../../turn/message-queue.js';
import { FlowControl } from '../channel/flow-control.js';
import type { LineChannel } from '../channel/line-channel.js';
import type { FromAgent, SentError, SentMessage, ToAgent } from '../channel/protocol.js';
import { fromSentError, toSentError } from '../channel/sent-error.js';

/** The agent's end of a run: it gives the agent its `ctx`, and sends the outputs to Acta. */
export class ChildRun {
  readonly id: string;
  private readonly taskId: string;
  private readonly aborter = new AbortController();
  private readonly queue: MessageQueue;
  private readonly flow: FlowControl;
  private readonly requests: MessageRequests = new WeakMap();
  private readonly history: Message[];
  private readonly startedArtifacts = new Set<string>();
  private readonly failed: Promise<never>;
  private onFailure!: (error: Error) => void;
  private failure: Error | null = null;
  private isOver = false;
  private read: number | undefined;
  private unacknowledged = 0;

  constructor(
    private readonly turn: Extract<ToAgent, { type: 'start' }>,
    private readonly channel: LineChannel<FromAgent, ToAgent>,
    private readonly onEnd: () => void,
  ) {
    this.id = turn.run;
    this.taskId = turn.facts.task.id;
    this.queue = new MessageQueue((version) => {
      this.read = Math.max(this.read ?? 0, version);
    });
    this.flow = new FlowControl((line) => channel.sendLine(line));
    this.history = turn.history.map((sent) => this.known(sent));
    this.failed = new Promise((_, reject) => {
      this.onFailure = reject;
    });
    this.failed.catch(() => undefined);
  }

  addHistory(messages: readonly SentMessage[]): void {
    this.history.push(...messages.map((sent) => this.known(sent)));
  }

  addMessage(version: number, sent: Required<SentMessage>): void {
    this.queue.push({ version, message: this.known(sent), request: sent.request });
  }

  abort(reason: SentError): void {
    this.aborter.abort(fromSentError(reason, this.taskId));
  }

  onAcknowledged(count: number): void {
    this.flow.acknowledge(count);
  }

  onFailed(error: SentError): void {
    this.failure ??= fromSentError(error, this.taskId);
    this.onFailure(this.failure);
  }

  acknowledge(): void {
    if (this.unacknowledged++ > 0) return;
    this.channel.onNextWrite(() => {
      this.channel.send({ type: 'ack', run: this.id, count: this.unacknowledged });
      this.unacknowledged = 0;
    });
  }

  start(agents: readonly Agent[]): void {
    const agent = agents[this.turn.agent];
    void this.execute(agent).then(
      () => this.end(),
      (error: unknown) => this.end(toSentError(error)),
    );
  }

  private async execute(agent: Agent | undefined): Promise<void> {
    const { facts } = this.turn;
    const message = this.known(this.turn.message);
    const request = this.requests.get(message);
    if (typeof agent?.run !== 'function') throw new Error('the agent module has changed and no longer has this agent');
    if (request === undefined) throw new Error('the message has no request');
    const conversation = { message, history: this.history, request };
    const output = {
      hasStarted: (id: string) => this.startedArtifacts.has(id),
      write: (written: RunOutput) => this.write(written),
    };
    const { requests, queue: inbox } = this;
    await agent.run(createAgentContext({ facts, conversation, requests, output, inbox, signal: this.aborter.signal }));
  }

  /** Has the same results as RunWriter.write, which records the output. */
  private async write(output: RunOutput): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (this.isOver) throw new Error('the run already has an outcome and cannot write more output');
    // Throws for a value that JSON cannot represent.
    const line = JSON.stringify({ type: 'output', run: this.id, output, read: this.read } satisfies FromAgent);
    if (output.type === 'artifact') this.startedArtifacts.add(output.artifactId);
    if (!endsTurn(output)) return this.flow.send(line);
    this.isOver = true;
    return Promise.race([this.flow.sendAndAwait(line), this.failed]);
  }

  private end(error?: SentError): void {
    this.isOver = true;
    const { id: run, read } = this;
    const end: FromAgent = { type: 'end', run, read, ...(error === undefined ? {} : { error }) };
    void this.flow.send(JSON.stringify(end)).then(() => this.onEnd());
    this.queue.close();
    if (!this.aborter.signal.aborted) this.aborter.abort(new Error('the run has ended'));
  }

  private known({ message, request }: SentMessage): Message {
    if (request !== undefined) this.requests.set(message, request);
    return message;
  }
}
