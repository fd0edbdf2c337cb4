import type { Message, RunOutput } from '@app/domain';
import type { AgentTurn } from '../turn/agent-turn.js';
import { AttemptLost } from '../turn/attempt-lost.js';
import { FlowControl } from './channel/flow-control.js';
import type { LineChannel } from './channel/line-channel.js';
import { type FromAgent, type SentMessage, type ToAgent, WINDOW_BYTES } from './channel/protocol.js';
import { fromSentError, toSentError } from './channel/sent-error.js';

export type AgentChannel = LineChannel<ToAgent, FromAgent>;

/** The outputs that the code of an agent can cause. The others are decided by Acta alone. */
const OUTPUT_TYPES: ReadonlySet<unknown> = new Set<RunOutput['type']>([
  'status',
  'artifact',
  'input-required',
  'auth-required',
  'complete',
  'fail',
  'reject',
  'reply',
  'canceled',
]);

/** How long a run may ignore its abort before its process gets no more runs: longer than a run may take to end. */
const IGNORED_ABORT_MS = 40_000;

/** Acta's end of a run in an agent process: it forwards the turn, and passes the outputs on to the event log. */
export class RemoteRun {
  readonly id: string;
  readonly taskId: string;
  /** Resolves when the agent has ended. Rejects with its error, or with AttemptLost. */
  readonly ended: Promise<void>;
  isStarted = false;
  private readonly flow: FlowControl;
  private resolve!: () => void;
  private reject!: (error: Error) => void;
  private isOver = false;
  private unacknowledged = 0;
  private lastForwarded = 0;
  private abortTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly channel: AgentChannel,
    private readonly agent: number,
    private readonly turn: AgentTurn,
    private readonly onAbortIgnored: () => void,
  ) {
    this.id = turn.facts.lease.runId;
    this.taskId = turn.facts.task.id;
    this.flow = new FlowControl((line) => channel.sendLine(line));
    this.ended = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.ended.catch(() => undefined);
  }

  start(): void {
    const { signal } = this.turn;
    this.sendTurn();
    if (signal.aborted) this.sendAbort();
    else signal.addEventListener('abort', this.sendAbort, { once: true });
    void this.forwardArrivals();
  }

  onOutput(output: RunOutput, read: number | undefined): void {
    if (this.isOver) return;
    if (!isOutput(output)) throw new Error('an output has an unknown form');
    this.markRead(read);
    this.turn.output.write(withoutActaFields(output)).then(
      () => this.acknowledge(),
      (error: unknown) => {
        if (!this.isOver) this.channel.send({ type: 'failed', run: this.id, error: toSentError(error) });
        this.acknowledge();
      },
    );
  }

  onEnd({ error, read }: Extract<FromAgent, { type: 'end' }>): void {
    this.markRead(read);
    if (error === undefined) this.settle(this.resolve);
    // Only the event log decides that a run is fenced.
    else this.fail(fromSentError(error.kind === 'fenced' ? { ...error, kind: 'error' } : error, this.taskId));
  }

  onAcknowledged(count: number): void {
    this.flow.acknowledge(count);
  }

  /** Gives the run back, because it has not started and its process does not respond. */
  drop(): void {
    this.channel.send({ type: 'drop', run: this.id });
    this.fail(new AttemptLost('the agent process did not respond', { reason: 'released', counted: false }));
  }

  fail(error: Error): void {
    this.settle(() => this.reject(error));
  }

  private settle(end: () => void): void {
    this.isOver = true;
    clearTimeout(this.abortTimer);
    this.turn.signal.removeEventListener('abort', this.sendAbort);
    end();
  }

  private readonly sendAbort = () => {
    this.channel.send({ type: 'abort', run: this.id, reason: toSentError(this.turn.signal.reason) });
    this.abortTimer = setTimeout(this.onAbortIgnored, IGNORED_ABORT_MS);
    this.abortTimer.unref();
  };

  /** Sends the turn in one line if it fits into the window, and its history in several otherwise. */
  private sendTurn(): void {
    const { facts, conversation, requests } = this.turn;
    const sent = (message: Message): SentMessage => {
      const request = requests.get(message);
      return request === undefined ? { message } : { message, request };
    };
    const start = {
      type: 'start',
      run: this.id,
      agent: this.agent,
      facts,
      message: sent(conversation.message),
    } as const;
    const history = conversation.history.map(sent);
    const line = JSON.stringify({ ...start, history, partial: false } satisfies ToAgent);
    if (history.length === 0 || Buffer.byteLength(line) <= WINDOW_BYTES) {
      void this.flow.send(line);
      return;
    }
    void this.flow.send(JSON.stringify({ ...start, history: [], partial: true } satisfies ToAgent));
    for (const [index, message] of history.entries()) {
      const last = index === history.length - 1;
      const part: ToAgent = { type: 'history', run: this.id, messages: [message], last };
      void this.flow.send(JSON.stringify(part));
    }
  }

  private async forwardArrivals(): Promise<void> {
    const { inbox, signal } = this.turn;
    for await (const { version, message, request } of inbox.arrivals(signal)) {
      if (this.isOver) return;
      this.lastForwarded = version;
      const line: ToAgent = { type: 'message', run: this.id, version, sent: { message, request } };
      void this.flow.send(JSON.stringify(line));
    }
  }

  private markRead(version: number | undefined): void {
    if (typeof version === 'number' && version <= this.lastForwarded) this.turn.inbox.markRead(version);
  }

  private acknowledge(): void {
    if (this.unacknowledged++ > 0) return;
    this.channel.onNextWrite(() => {
      if (!this.isOver) this.channel.send({ type: 'ack', run: this.id, count: this.unacknowledged });
      this.unacknowledged = 0;
    });
  }
}

/** Whether a value has the fields that recording reads. Its content is validated when it is recorded. */
function isOutput(output: RunOutput): boolean {
  if (typeof output !== 'object' || output === null || !OUTPUT_TYPES.has(output.type)) return false;
  if (output.type === 'artifact') return hasParts(output.artifact) && typeof output.artifactId === 'string';
  return !('message' in output) || hasParts(output.message);
}

const hasParts = (content: unknown): boolean =>
  typeof content === 'object' && content !== null && Array.isArray((content as { parts?: unknown }).parts);

/** An agent sets neither the role of its messages, nor that its output is invalid. */
function withoutActaFields(output: RunOutput): RunOutput {
  if (output.type === 'artifact' || !('message' in output) || output.message === undefined) return output;
  const { invalid: _, ...rest } = output as Extract<RunOutput, { type: 'fail' }>;
  return { ...rest, message: { ...output.message, role: 'agent' } } as RunOutput;
}
