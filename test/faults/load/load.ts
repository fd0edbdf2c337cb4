import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import type { WireTask } from '../../support/clients/rpc.js';
import type { TaskStream } from '../../support/clients/task-stream.js';
import {
  nextFrame,
  NoResponse,
  RECOVERY_TIMEOUT_MS,
  RetryingClient,
  UNSUPPORTED_OPERATION,
} from './retrying-client.js';
import { API_WORKER_AGENT, type Fleet } from '../fleet/fleet.js';
import { isTerminalState, type Journal, type SentMessage, type WatchedStream } from './journal.js';
import type { Random } from './random.js';

const CLIENTS = 14;

/** The A2A error code of a cancel that lost the race against the end of the task. */
const TASK_NOT_CANCELABLE = -32002;

/** Paths of the agents, used in turn. Processes of Acta run the default one, API workers the other. */
const AGENTS = [`/agents/${API_WORKER_AGENT}`, '', ''];
/** Every nth message sets a webhook. */
const WEBHOOK_EVERY = 4;
/** The number of paths of the webhook. */
const WEBHOOK_PATHS = 4;

/** One request to an agent. */
interface Work {
  readonly text: string;
  /** The URL path of the agent; empty for the default agent. */
  readonly agentPath: string;
  readonly webhook: boolean;
}

/** Concurrent clients of the public API. They repeat every request without a response, with the same message id. */
export class Load {
  private readonly client: RetryingClient;
  private readonly webhookUrl: string;
  private count = 0;

  constructor(
    fleet: Fleet,
    private readonly journal: Journal,
    private readonly random: Random,
  ) {
    this.client = new RetryingClient(fleet, (problem) => this.violation(problem));
    this.webhookUrl = fleet.webhook.url!;
  }

  /** Runs until `faultsEnded` resolves, and then lets every client finish its scenario. */
  async run(faultsEnded: Promise<unknown>): Promise<void> {
    let isRunning = true;
    const stop = () => {
      isRunning = false;
      this.client.startDeadline();
    };
    void faultsEnded.then(stop, stop);
    const client = async (random: Random) => {
      while (isRunning) {
        try {
          await this.runScenario(random);
        } catch (error) {
          if (!(error instanceof NoResponse)) throw error;
          this.violation(
            `a client got no response within ${RECOVERY_TIMEOUT_MS / 1_000} s after the end of all faults`,
          );
        }
        await delay(random.between(0, 60));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, () => client(this.random.fork())));
  }

  private runScenario(random: Random): Promise<unknown> {
    const timing = random.pick(['', ' sleep 200ms', ' chunks 6 every 25ms', ' sleep 50ms chunks 12 every 60ms']);
    const nth = this.count++;
    const work = {
      text: `message ${nth}${timing}`,
      agentPath: AGENTS[nth % AGENTS.length]!,
      webhook: nth % WEBHOOK_EVERY === 0,
    };
    const scenarios: (() => Promise<unknown>)[] = [
      () => this.send(work, random),
      () => this.send(work, random),
      () => this.send(work, random, { immediately: true }),
      () => this.sendTwice(work, random),
      () => this.cancel(work, random),
      () => this.multiTurn(work, random),
      () => this.sendWhileRunning(work, random),
      () => this.watch(work, random),
      () => this.sendStreaming(work, random),
    ];
    return random.pick(scenarios)();
  }

  /** Sends one message until it is acknowledged. Returns null when the task had already ended. */
  private async send(
    work: Work,
    random: Random,
    { immediately = false, taskId }: { immediately?: boolean; taskId?: string } = {},
    sent = this.recordSent(work, taskId),
  ): Promise<WireTask | null> {
    const message = messageOf(sent, taskId);
    const configuration = { returnImmediately: immediately, ...this.webhookOf(work) };
    const options = { expectedErrors: [UNSUPPORTED_OPERATION], agentPath: work.agentPath };
    const { body } = await this.client.call(random, 'SendMessage', { message, configuration }, options);
    if (body.result === undefined) return null;
    const { task } = body.result as unknown as { task: WireTask };
    this.acknowledge(sent, task);
    return task;
  }

  /** Sends the same message twice concurrently and once more, like a client after a timeout. */
  private async sendTwice(work: Work, random: Random): Promise<void> {
    const sent = this.recordSent(work);
    const twice = [this.send(work, random, {}, sent), this.send(work, random.fork(), {}, sent)];
    const results = await Promise.allSettled(twice);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason as Error;
    await this.send(work, random, {}, sent);
  }

  private async cancel(work: Work, random: Random): Promise<void> {
    const slow = { ...work, text: `${work.text} sleep 400ms` };
    const task = (await this.send(slow, random, { immediately: true }))!;
    this.journal.expect(task.id, slow.text).mayBeCanceled = true;
    await delay(random.between(0, 600));
    const { body } = await this.client.call(
      random,
      'CancelTask',
      { id: task.id },
      { expectedErrors: [TASK_NOT_CANCELABLE] },
    );
    if (body.result !== undefined) this.recordTerminalState(body.result as unknown as WireTask);
  }

  /** Lets a task require input up to three times. Some tasks get no further message. */
  private async multiTurn(work: Work, random: Random): Promise<void> {
    const question = { ...work, text: `ask ${work.text}` };
    const { id: taskId } = (await this.send(question, random))!;
    const expected = this.journal.expect(taskId, question.text);
    expected.mayWait = true;
    for (let turn = random.between(0, 2); turn > 0; turn -= 1) {
      await this.send({ ...question, text: `${question.text} again ${turn}` }, random, { taskId });
    }
    if (random.chance(0.2)) return;
    expected.texts.push(work.text);
    await this.send(work, random, { taskId });
    expected.mayWait = false;
  }

  /** Sends a second message while the agent works, or shortly after. */
  private async sendWhileRunning(work: Work, random: Random): Promise<void> {
    const slow = { ...work, text: `${work.text} sleep 300ms` };
    const task = (await this.send(slow, random, { immediately: true }))!;
    await delay(random.between(0, 500));
    const more = { ...work, text: `${work.text} more` };
    this.journal.expect(task.id, slow.text).texts.push(more.text);
    await this.send(more, random, { immediately: true, taskId: task.id });
  }

  private async watch(work: Work, random: Random): Promise<void> {
    const task = (await this.send(work, random, { immediately: true }))!;
    await this.follow(this.startWatching(task.id), random);
  }

  private async sendStreaming(work: Work, random: Random): Promise<void> {
    const sent = this.recordSent(work);
    const params = { message: messageOf(sent), configuration: this.webhookOf(work) };
    for (;;) {
      this.client.checkDeadline();
      const opened = await this.client.open(random, 'SendStreamingMessage', params, { agentPath: work.agentPath });
      if (opened === null) continue;
      const { stream, first } = opened;
      const { task } = first.result;
      if (task === undefined) {
        stream.close();
        continue;
      }
      this.acknowledge(sent, task);
      const watched = this.startWatching(task.id);
      watched.from = first.id;
      watched.ended = isTerminalState(task.status.state);
      await this.read(stream, watched);
      await this.follow(watched, random);
      return;
    }
  }

  /** Follows a task to its end, over as many connections as necessary. */
  private async follow(watched: WatchedStream, random: Random): Promise<void> {
    const { taskId } = watched;
    while (!watched.ended) {
      this.client.checkDeadline();
      const last = watched.ids.at(-1) ?? watched.from;
      const resume = last === 0 ? {} : { lastEventId: last };
      const opened = await this.client.open(random, 'SubscribeToTask', { id: taskId }, resume);
      // A subscription without a last event id is rejected after the end of the task; one with an earlier id is not.
      if (opened === 'ended') {
        if (last > 0)
          this.violation(`the subscription to ${taskId} after ${last} was rejected, before the end of its stream`);
        return;
      }
      if (opened === null) continue;
      const { stream, first } = opened;
      if (first.result.task === undefined) this.violation(`the stream of ${taskId} does not start with a snapshot`);
      if (last > 0 && first.id !== last)
        this.violation(`the stream of ${taskId} was resumed after ${last} and started at ${first.id}`);
      if (last === 0) watched.from = first.id;
      await this.read(stream, watched);
    }
  }

  private async read(stream: TaskStream, watched: WatchedStream): Promise<void> {
    try {
      for (;;) {
        const frame = await nextFrame(stream);
        if (frame === null) return;
        watched.ids.push(frame.id);
        const state = frame.result.statusUpdate?.status.state;
        if (state !== undefined && isTerminalState(state)) watched.ended = true;
      }
    } catch {
      // The connection was lost.
    } finally {
      stream.close();
    }
  }

  /** Returns the same configuration for each repeat of a message. */
  private webhookOf({ text, webhook }: Work): JsonObject {
    const url = `${this.webhookUrl}/${text.length % WEBHOOK_PATHS}`;
    return webhook ? { taskPushNotificationConfig: { url } } : {};
  }

  private recordSent({ text, webhook }: Work, taskId?: string): SentMessage {
    const sent = { messageId: randomUUID(), text, webhook, taskId: taskId ?? null, acknowledged: false };
    this.journal.sent.push(sent);
    return sent;
  }

  private acknowledge(sent: SentMessage, task: WireTask): void {
    if (sent.taskId !== null && sent.taskId !== task.id) {
      this.violation(`message ${sent.messageId} was acknowledged with the tasks ${sent.taskId} and ${task.id}`);
    }
    sent.taskId = task.id;
    sent.acknowledged = true;
    this.journal.expect(task.id, sent.text);
    this.recordTerminalState(task);
  }

  private recordTerminalState({ id, status }: WireTask): void {
    if (isTerminalState(status.state)) this.journal.terminalStates.push({ taskId: id, state: status.state });
  }

  private startWatching(taskId: string): WatchedStream {
    const watched = { taskId, from: 0, ids: [], ended: false };
    this.journal.watched.push(watched);
    return watched;
  }

  private violation(problem: string): void {
    this.journal.violations.push(problem);
  }
}

const messageOf = ({ messageId, text }: SentMessage, taskId?: string): JsonObject => ({
  messageId,
  role: 'ROLE_USER',
  parts: [{ text }],
  ...(taskId === undefined ? {} : { taskId }),
});
