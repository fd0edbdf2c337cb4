import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import type { WireTask } from '../../support/clients/rpc.js';
import type { Frame, TaskStream } from '../../support/clients/task-stream.js';
import { CarefulClient, GaveUp, PATIENCE_MS, UNSUPPORTED_OPERATION } from './careful-client.js';
import type { Fleet } from '../fleet/fleet.js';
import { isOver, type Journal, type SentMessage, type Watched } from './journal.js';
import type { Random } from './random.js';

const CLIENTS = 14;
const SILENCE_MS = 8_000;

/** Code of A2A that a race with the end of a task may rightly bring. */
const TASK_NOT_CANCELABLE = -32002;

/** Paths of the agents, in turn: the default one is run by processes of Acta, the other by remote workers. */
const AGENTS = ['/agents/afar', '', ''];
/** One piece of work in so many has a webhook. */
const WEBHOOK_EACH = 4;
/** As many addresses, of the one webhook. */
const WEBHOOK_PATHS = 4;

/** What is asked of an agent. */
interface Work {
  readonly text: string;
  /** Path of the agent. */
  readonly at: string;
  readonly webhook: boolean;
}

/** Clients that use the public API as careful clients do: whatever gets no answer is sent again, under the same id. */
export class Load {
  private readonly client: CarefulClient;
  private readonly webhookUrl: string;
  private count = 0;

  constructor(
    fleet: Fleet,
    private readonly journal: Journal,
    private readonly random: Random,
  ) {
    this.client = new CarefulClient(fleet, (what) => this.violation(what));
    this.webhookUrl = fleet.webhook.url!;
  }

  /** Runs until `over`, and lets every client end what it has begun. */
  async run(over: Promise<unknown>): Promise<void> {
    let going = true;
    const stop = () => {
      going = false;
      this.client.allIsWell();
    };
    void over.then(stop, stop);
    const client = async (random: Random) => {
      while (going) {
        try {
          await this.something(random);
        } catch (error) {
          if (!(error instanceof GaveUp)) throw error;
          this.violation(`a client was still without an answer ${PATIENCE_MS / 1_000} s after all was well again`);
        }
        await delay(random.between(0, 60));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, () => client(this.random.fork())));
  }

  private something(random: Random): Promise<unknown> {
    const how = random.pick(['', ' sleep 200ms', ' chunks 6 every 25ms', ' sleep 50ms chunks 12 every 60ms']);
    const nth = this.count++;
    const work = { text: `no ${nth}${how}`, at: AGENTS[nth % AGENTS.length]!, webhook: nth % WEBHOOK_EACH === 0 };
    const does: (() => Promise<unknown>)[] = [
      () => this.send(work, random),
      () => this.send(work, random),
      () => this.send(work, random, { immediately: true }),
      () => this.sendTwice(work, random),
      () => this.cancel(work, random),
      () => this.converse(work, random),
      () => this.join(work, random),
      () => this.watch(work, random),
      () => this.sendStreaming(work, random),
    ];
    return random.pick(does)();
  }

  /** One message, until it is acknowledged. */
  private async send(
    work: Work,
    random: Random,
    { immediately = false, taskId }: { immediately?: boolean; taskId?: string } = {},
    sent = this.note(work, taskId),
  ): Promise<WireTask | null> {
    const message = messageOf(sent, taskId);
    const configuration = { returnImmediately: immediately, ...this.webhookOf(work) };
    const asked = { right: [UNSUPPORTED_OPERATION], at: work.at };
    const { body } = await this.client.ask(random, 'SendMessage', { message, configuration }, asked);
    if (body.result === undefined) return null;
    const { task } = body.result as unknown as { task: WireTask };
    this.acknowledge(sent, task);
    return task;
  }

  /** The same message twice, as a client does that had no answer in time. */
  private async sendTwice(work: Work, random: Random): Promise<void> {
    const sent = this.note(work);
    const twice = [this.send(work, random, {}, sent), this.send(work, random.fork(), {}, sent)];
    const answers = await Promise.allSettled(twice);
    const broken = answers.find((answer) => answer.status === 'rejected');
    if (broken !== undefined) throw broken.reason as Error;
    await this.send(work, random, {}, sent);
  }

  private async cancel(work: Work, random: Random): Promise<void> {
    const slow = { ...work, text: `${work.text} sleep 400ms` };
    const task = (await this.send(slow, random, { immediately: true }))!;
    this.journal.expect(task.id, slow.text).mayBeCanceled = true;
    await delay(random.between(0, 600));
    const { body } = await this.client.ask(random, 'CancelTask', { id: task.id }, { right: [TASK_NOT_CANCELABLE] });
    if (body.result !== undefined) this.tell(body.result as unknown as WireTask);
  }

  /** A task that asks back, up to three times; some are never answered. */
  private async converse(work: Work, random: Random): Promise<void> {
    const asks = { ...work, text: `ask ${work.text}` };
    const { id: taskId } = (await this.send(asks, random))!;
    const expected = this.journal.expect(taskId, asks.text);
    expected.mayWait = true;
    for (let again = random.between(0, 2); again > 0; again -= 1) {
      await this.send({ ...asks, text: `${asks.text} again ${again}` }, random, { taskId });
    }
    if (random.chance(0.2)) return;
    expected.texts.push(work.text);
    await this.send(work, random, { taskId });
    expected.mayWait = false;
  }

  /** A message that comes while the agent works, or just after. */
  private async join(work: Work, random: Random): Promise<void> {
    const slow = { ...work, text: `${work.text} sleep 300ms` };
    const task = (await this.send(slow, random, { immediately: true }))!;
    await delay(random.between(0, 500));
    const more = { ...work, text: `${work.text} more` };
    this.journal.expect(task.id, slow.text).texts.push(more.text);
    await this.send(more, random, { immediately: true, taskId: task.id });
  }

  private async watch(work: Work, random: Random): Promise<void> {
    const task = (await this.send(work, random, { immediately: true }))!;
    await this.follow(this.watching(task.id), random);
  }

  private async sendStreaming(work: Work, random: Random): Promise<void> {
    const sent = this.note(work);
    const params = { message: messageOf(sent), configuration: this.webhookOf(work) };
    for (;;) {
      this.client.requirePatience();
      const stream = await this.client.open(random, 'SendStreamingMessage', params, { at: work.at });
      if (stream === null) continue;
      const first = await nextOf(stream).catch(() => null);
      const task = first?.result.task;
      if (first === null || task === undefined) {
        stream.close();
        continue;
      }
      this.acknowledge(sent, task);
      const watched = this.watching(task.id);
      watched.from = first.id;
      watched.ended = isOver(task.status.state);
      await this.read(stream, watched);
      await this.follow(watched, random);
      return;
    }
  }

  /** Follows a task to its end, over as many connections as that takes. */
  private async follow(watched: Watched, random: Random): Promise<void> {
    const { taskId } = watched;
    while (!watched.ended) {
      this.client.requirePatience();
      const last = watched.ids.at(-1) ?? watched.from;
      const resume = last === 0 ? {} : { lastEventId: last };
      const stream = await this.client.open(random, 'SubscribeToTask', { id: taskId }, resume);
      // Refused: it ended, and what came before its end has been seen or was never asked for.
      if (stream === 'ended') {
        if (last > 0) this.violation(`the stream of ${taskId} was refused after ${last}, before its end`);
        return;
      }
      if (stream === null) continue;
      const first = await nextOf(stream).catch(() => null);
      if (first === null) continue;
      if (first.result.task === undefined) this.violation(`the stream of ${taskId} starts with no snapshot`);
      if (last > 0 && first.id !== last) this.violation(`resumed ${taskId} after ${last} and got ${first.id}`);
      if (last === 0) watched.from = first.id;
      await this.read(stream, watched);
    }
  }

  private async read(stream: TaskStream, watched: Watched): Promise<void> {
    try {
      for (;;) {
        const frame = await nextOf(stream);
        if (frame === null) return;
        watched.ids.push(frame.id);
        const state = frame.result.statusUpdate?.status.state;
        if (state !== undefined && isOver(state)) watched.ended = true;
      }
    } catch {
      // Cut off.
    } finally {
      stream.close();
    }
  }

  /** Always the same for the same message, as the message is. */
  private webhookOf({ text, webhook }: Work): JsonObject {
    const url = `${this.webhookUrl}/${text.length % WEBHOOK_PATHS}`;
    return webhook ? { taskPushNotificationConfig: { url } } : {};
  }

  private note({ text, webhook }: Work, taskId?: string): SentMessage {
    const sent = { messageId: randomUUID(), text, webhook, taskId: taskId ?? null, acknowledged: false };
    this.journal.sent.push(sent);
    return sent;
  }

  private acknowledge(sent: SentMessage, task: WireTask): void {
    if (sent.taskId !== null && sent.taskId !== task.id) {
      this.violation(`message ${sent.messageId} is in the tasks ${sent.taskId} and ${task.id}`);
    }
    sent.taskId = task.id;
    sent.acknowledged = true;
    this.journal.expect(task.id, sent.text);
    this.tell(task);
  }

  private tell({ id, status }: WireTask): void {
    if (isOver(status.state)) this.journal.told.push({ taskId: id, state: status.state });
  }

  private watching(taskId: string): Watched {
    const watched = { taskId, from: 0, ids: [], ended: false };
    this.journal.watched.push(watched);
    return watched;
  }

  private violation(what: string): void {
    this.journal.violations.push(what);
  }
}

/** The next frame. A server that was stopped says nothing and does not hang up: the client does, after a while. */
function nextOf(stream: TaskStream): Promise<Frame | null> {
  const silence = setTimeout(() => stream.close(), SILENCE_MS);
  return stream.next().finally(() => clearTimeout(silence));
}

const messageOf = ({ messageId, text }: SentMessage, taskId?: string): JsonObject => ({
  messageId,
  role: 'ROLE_USER',
  parts: [{ text }],
  ...(taskId === undefined ? {} : { taskId }),
});
