import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TraceContext } from '@app/domain';
import { anAgent } from '../../../../test/support/replica-agents.js';
import type { ReceivedWebhook } from '../../../../test/support/clients/webhook-receiver.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import { textIn, WebhookFixture } from '../../../../test/support/webhook-fixture.js';

const alice = aMember('alice');
const FIRST: TraceContext = { parent: `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`, state: 'vendor=1,other=2' };
const SECOND: TraceContext = { parent: `00-${'b'.repeat(32)}-${'2'.repeat(16)}-00` };

/** Requests input until the text is "end", and reports the text before. */
const askingAgent = anAgent(async (ctx) => {
  await ctx.working(ctx.text);
  if (ctx.text !== 'end') await ctx.requireInput('more?');
});

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await WebhookFixture.open({ agents: [askingAgent] });
});
afterEach(() => fixture?.close());

const traceOf = ({ headers }: ReceivedWebhook) => [headers['traceparent'], headers['tracestate']];

describe('The requests of a webhook', () => {
  it('have the trace context of the message that caused their event', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    const taskId = await fixture.runTask(hook.urlOf(), 'start', { trace: FIRST });
    await fixture.replica.sendAndWait(alice, aMessage('again'), { taskId, trace: SECOND });
    await fixture.replica.sendAndWait(alice, aMessage('end'), { taskId });
    await hook.until(({ accepted }) => accepted.length === 11);
    expect(hook.accepted.map((webhook) => [textIn(webhook.body), ...traceOf(webhook)])).toEqual([
      [undefined, FIRST.parent, FIRST.state],
      ['start', FIRST.parent, FIRST.state],
      ['more?', FIRST.parent, FIRST.state],
      [undefined, SECOND.parent, undefined],
      [undefined, SECOND.parent, undefined],
      ['again', SECOND.parent, undefined],
      ['more?', SECOND.parent, undefined],
      [undefined, undefined, undefined],
      [undefined, undefined, undefined],
      ['end', undefined, undefined],
      [undefined, undefined, undefined],
    ]);
  });

  it('have the trace context of the request that canceled the task', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    const taskId = await fixture.runTask(hook.urlOf(), 'start', { trace: FIRST });
    await fixture.replica.cancel(alice, taskId, { trace: SECOND });
    await hook.until(({ accepted }) => accepted.length === 4);
    expect(traceOf(hook.accepted.at(-1)!)).toEqual([SECOND.parent, undefined]);
  });

  it('have the same trace context in a repeated attempt and in a different sender', async () => {
    const hook = await fixture.receiver((_webhook, nth) => (nth <= 2 ? 503 : 200));
    const first = fixture.startSender();
    await fixture.runTask(hook.urlOf(), 'start', { trace: FIRST });
    await hook.until(({ received }) => received.length >= 1);
    await first.stop();
    fixture.startSender();
    await hook.until(({ accepted }) => accepted.length === 3);
    expect(hook.received.map(traceOf)).toEqual(hook.received.map(() => [FIRST.parent, FIRST.state]));
  });

  it('have no trace context when the webhook was set by a request that is not the cause of the event', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    await fixture.runTask(hook.urlOf(), 'start');
    await hook.until(({ accepted }) => accepted.length === 3);
    expect(hook.accepted.map(traceOf)).toEqual(hook.accepted.map(() => [undefined, undefined]));
  });
});
