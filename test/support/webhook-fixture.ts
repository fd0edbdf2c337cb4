import { randomUUID } from 'node:crypto';
import type { Principal } from '@app/domain';
import { type WebhookDelivery, type WebhookLogLine, WebhookOutbox, type WebhookSender } from '@app/webhooks';
import type { SendMessageRequest } from '../../libs/tasks/src/commands/send-message.command.js';
import { Acta, type Replica, type ReplicaOptions } from './acta.js';
import { anAgent } from './replica-agents.js';
import { WebhookReceiver } from './clients/webhook-receiver.js';
import { aMember, aMessage } from './tasks.js';
import { type SenderSetup, startWebhookSender } from './webhook-senders.js';

const alice = aMember('alice');

/** Reports one status for each word of its text, and completes. */
const wordAgent = anAgent(async (ctx) => {
  for (const word of ctx.text.split(' ')) await ctx.working(word);
});

/** A replica whose agent reports words, with the webhooks and the senders that a test starts. */
export class WebhookFixture {
  readonly outbox: WebhookOutbox;
  /** The log lines of all senders. */
  readonly logged: WebhookLogLine[] = [];
  private readonly cleanups: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly acta: Acta,
    readonly replica: Replica,
  ) {
    this.outbox = WebhookOutbox.over(replica);
  }

  static async open({ agents = [wordAgent] }: ReplicaOptions = {}): Promise<WebhookFixture> {
    const acta = await Acta.open();
    return new WebhookFixture(acta, await acta.replica({ agents }));
  }

  /** Adds a replica with the same agent. */
  addReplica(): Promise<Replica> {
    return this.acta.replica({ agents: [wordAgent] });
  }

  async receiver(...args: Parameters<typeof WebhookReceiver.start>): Promise<WebhookReceiver> {
    const started = await WebhookReceiver.start(...args);
    this.atEnd(() => started.close());
    return started;
  }

  startSender(setup: SenderSetup = {}, replica = this.replica): WebhookSender {
    const sender = startWebhookSender(replica, { log: (line) => void this.logged.push(line), ...setup });
    this.atEnd(() => sender.stop());
    return sender;
  }

  /** Runs a task whose webhook has the URL, and returns its id. It has an event for each word and two more. */
  async runTask(
    url: string,
    text: string,
    { principal = alice, ...request }: Partial<SendMessageRequest> & { principal?: Principal } = {},
  ): Promise<string> {
    const options = { protocolVersion: '1.0', push: { url }, ...request };
    return (await this.replica.sendAndWait(principal, aMessage(text, randomUUID()), options)).taskId;
  }

  deliveries(taskId: string, { tenantId } = alice): Promise<WebhookDelivery[]> {
    return this.outbox.listForTask(tenantId, taskId, 0, 1_000);
  }

  /** Waits until the deliveries of a task satisfy the condition, and returns them. Throws with all of them after 20 s. */
  async untilDeliveries(
    taskId: string,
    satisfies: (deliveries: readonly WebhookDelivery[]) => boolean,
    principal: Principal = alice,
  ): Promise<WebhookDelivery[]> {
    for (let tries = 0; tries < 800; tries += 1) {
      const found = await this.deliveries(taskId, principal);
      if (found.length > 0 && satisfies(found)) return found;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`the condition is not met after 20 s: ${JSON.stringify(await this.deliveries(taskId, principal))}`);
  }

  /** Waits until no delivery of a task is pending, and returns the state of each. */
  async untilSettled(taskId: string, principal: Principal = alice): Promise<string[]> {
    const isSettled = (deliveries: readonly WebhookDelivery[]) => deliveries.every(({ state }) => state !== 'pending');
    return (await this.untilDeliveries(taskId, isSettled, principal)).map(({ state }) => state);
  }

  /** Waits for the first attempt at the first delivery of a task, and returns the delivery. */
  async untilAttempted(taskId: string): Promise<WebhookDelivery> {
    return (await this.untilDeliveries(taskId, ([first]) => first!.attempts > 0))[0]!;
  }

  /** Runs work at the end of the test, in reverse order. */
  atEnd(cleanup: () => Promise<unknown>): void {
    this.cleanups.push(cleanup);
  }

  async close(): Promise<void> {
    for (const cleanup of this.cleanups.splice(0).reverse()) await cleanup();
    await this.acta.close();
  }
}

/** Returns the agent's text in an update of 1.0. */
export function textIn(body: unknown): string | undefined {
  const { statusUpdate } = body as { statusUpdate?: { status: { message?: { parts: { text: string }[] } } } };
  return statusUpdate?.status.message?.parts[0]?.text;
}
