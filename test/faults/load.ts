import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@app/domain';
import { call, type RpcAnswer, type WireTask } from '../support/rpc.js';
import { TOKEN } from '../support/start-server.js';
import { type Frame, TaskStream } from '../support/task-stream.js';
import type { Fleet } from './fleet.js';
import { isOver, type Journal, type SentMessage, type Watched } from './journal.js';
import type { Random } from './random.js';

const CLIENTS = 14;
const REQUEST_MS = 6_000;
const SILENCE_MS = 8_000;
const RETRY_MS = 100;
/** How long clients go on trying once everything is well again. */
const PATIENCE_MS = 30_000;

/** Codes of A2A that a race with the end of a task may rightly bring. */
const TASK_NOT_CANCELABLE = -32002;
const UNSUPPORTED_OPERATION = -32004;

/** Thrown where a client is out of patience: the storm is over, and it still has no answer. */
class GaveUp extends Error {}

/** Clients that use the public API as careful clients do: whatever gets no answer is sent again, under the same id. */
export class Load {
  private until = Infinity;
  private count = 0;

  constructor(
    private readonly fleet: Fleet,
    private readonly journal: Journal,
    private readonly random: Random,
  ) {}

  /** Runs until `over`, and lets every client end what it has begun. */
  async run(over: Promise<unknown>): Promise<void> {
    let going = true;
    const stop = () => {
      going = false;
      this.until = Date.now() + PATIENCE_MS;
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
    const work = `no ${(this.count += 1)}${random.pick(['', ' sleep 200ms', ' chunks 6 every 25ms', ' sleep 50ms chunks 12 every 60ms'])}`;
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
    text: string,
    random: Random,
    { immediately = false, taskId }: { immediately?: boolean; taskId?: string } = {},
    sent = this.note(text, taskId),
  ): Promise<WireTask | null> {
    const message = messageOf(sent, taskId);
    const configuration = { returnImmediately: immediately };
    const { body } = await this.ask(random, 'SendMessage', { message, configuration }, [UNSUPPORTED_OPERATION]);
    if (body.result === undefined) return null;
    const { task } = body.result as unknown as { task: WireTask };
    this.acknowledge(sent, task);
    return task;
  }

  /** The same message twice, as a client does that had no answer in time. */
  private async sendTwice(text: string, random: Random): Promise<void> {
    const sent = this.note(text);
    const twice = [this.send(text, random, {}, sent), this.send(text, random.fork(), {}, sent)];
    const answers = await Promise.allSettled(twice);
    const broken = answers.find((answer) => answer.status === 'rejected');
    if (broken !== undefined) throw broken.reason as Error;
    await this.send(text, random, {}, sent);
  }

  private async cancel(text: string, random: Random): Promise<void> {
    const task = (await this.send(`${text} sleep 400ms`, random, { immediately: true }))!;
    this.journal.expect(task.id, text).mayBeCanceled = true;
    await delay(random.between(0, 600));
    const { body } = await this.ask(random, 'CancelTask', { id: task.id }, [TASK_NOT_CANCELABLE]);
    if (body.result !== undefined) this.tell(body.result as unknown as WireTask);
  }

  /** A task that asks back; some are never answered. */
  private async converse(text: string, random: Random): Promise<void> {
    const question = (await this.send(`ask ${text}`, random))!;
    const expected = this.journal.expect(question.id, text);
    expected.mayWait = true;
    if (random.chance(0.2)) return;
    expected.texts.push(text);
    await this.send(text, random, { taskId: question.id });
    expected.mayWait = false;
  }

  /** A message that comes while the agent works, or just after. */
  private async join(text: string, random: Random): Promise<void> {
    const task = (await this.send(`${text} sleep 300ms`, random, { immediately: true }))!;
    await delay(random.between(0, 500));
    const more = `${text} more`;
    this.journal.expect(task.id, text).texts.push(more);
    await this.send(more, random, { immediately: true, taskId: task.id });
  }

  private async watch(text: string, random: Random): Promise<void> {
    const task = (await this.send(text, random, { immediately: true }))!;
    await this.follow(this.watching(task.id), random);
  }

  private async sendStreaming(text: string, random: Random): Promise<void> {
    const sent = this.note(text);
    for (;;) {
      this.requirePatience();
      const stream = await this.open(random, 'SendStreamingMessage', { message: messageOf(sent) });
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
      this.requirePatience();
      const last = watched.ids.at(-1) ?? watched.from;
      const resume = last === 0 ? {} : { lastEventId: last };
      const stream = await this.open(random, 'SubscribeToTask', { id: taskId }, resume);
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

  /** A stream; null when it could not be opened now; `ended` when there is nothing to come. */
  private async open(random: Random, method: 'SendStreamingMessage', params: JsonObject): Promise<TaskStream | null>;
  private async open(
    random: Random,
    method: 'SubscribeToTask',
    params: JsonObject,
    resume: { lastEventId?: number },
  ): Promise<TaskStream | 'ended' | null>;
  private async open(random: Random, method: string, params: JsonObject, resume = {}) {
    const url = await this.server(random);
    const opened = TaskStream.open(url, TOKEN, method, params, resume);
    const late = delay(REQUEST_MS, null, { ref: false });
    try {
      const stream = await Promise.race([opened, late]);
      if (stream === null) void opened.then((unused) => unused.close()).catch(() => undefined);
      return stream;
    } catch (error) {
      const text = (error as Error).message;
      if (text.includes(`"code":${UNSUPPORTED_OPERATION}`)) return 'ended';
      if (text.startsWith('no stream:') && !text.startsWith('no stream: 503')) {
        this.violation(`${method} was refused with ${text}`);
      }
      await delay(RETRY_MS);
      return null;
    }
  }

  /** Asks until there is an answer; an error must be one of those that are right. */
  private async ask(random: Random, method: string, params: JsonObject, right: number[] = []): Promise<RpcAnswer> {
    for (;;) {
      this.requirePatience();
      const url = await this.server(random);
      let answer: RpcAnswer;
      try {
        answer = await call(url, TOKEN, '1.0', method, params, AbortSignal.timeout(REQUEST_MS));
      } catch {
        await delay(RETRY_MS);
        continue;
      }
      const { status, headers, body, text } = answer;
      if (body.result !== undefined || right.includes(body.error!.code)) return answer;
      if (status !== 503) this.violation(`${method} was answered with ${status} ${text}`);
      else if (!headers.has('retry-after')) this.violation(`${method} was answered with 503 without Retry-After`);
      await delay(RETRY_MS);
    }
  }

  private async server(random: Random): Promise<string> {
    for (;;) {
      this.requirePatience();
      const { urls } = this.fleet;
      if (urls.length > 0) return random.pick(urls);
      await delay(RETRY_MS);
    }
  }

  private requirePatience(): void {
    if (Date.now() > this.until) throw new GaveUp();
  }

  private note(text: string, taskId?: string): SentMessage {
    const sent = { messageId: randomUUID(), text, taskId: taskId ?? null, acknowledged: false };
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
