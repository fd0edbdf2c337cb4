import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TaskCommand } from '@app/domain';
import type { WebhookTarget } from '@app/storage';
import { newInternalCommand } from '@app/tasks';
import type { ReceivedWebhook, WebhookResponse } from '../../../../test/support/clients/webhook-receiver.js';
import { aMember } from '../../../../test/support/tasks.js';
import { textIn, WebhookFixture } from '../../../../test/support/webhook-fixture.js';
import { MAX_RETRY_AFTER_MS } from '../requests/retry-after.js';
import { SenderSlots } from './sender-slots.js';
import { WebhookRetirement } from './webhook-retirement.js';

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await WebhookFixture.open();
});
afterEach(() => fixture?.close());

/** Returns a receiver that responds to deliveries with the text "b" as given, and accepts the others. */
const receiverFor = (response: (nth: number) => WebhookResponse) => {
  let nth = 0;
  return fixture.receiver(({ body }: ReceivedWebhook) => (textIn(body) === 'b' ? response((nth += 1)) : 200));
};

/** Returns the wait before the next attempt in milliseconds, in database time. */
async function waitOf(taskId: string): Promise<number> {
  const [row] = await fixture.acta.sql<{ wait: number }>(
    `select (extract(epoch from c.next_attempt_at - d.last_attempt_at) * 1000)::integer as wait
     from push_config c join push_delivery d using (tenant_id, task_id, subject, config_id)
     where c.task_id = $1 and c.lease is null and d.attempts > 0 order by d.version limit 1`,
    [taskId],
  );
  return row!.wait;
}

describe('A delivery that its target rejects', () => {
  it.each([400, 401, 403, 404, 405, 411, 413, 415, 422, 431, 451])(
    'with the status %i is dead after one attempt and does not hold back the next ones',
    async (status) => {
      const hook = await receiverFor(() => status);
      fixture.startSender({ backoffMs: 600_000, maxBackoffMs: 600_000 });
      const taskId = await fixture.runTask(hook.urlOf(), 'a b c');
      expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'dead', 'delivered', 'delivered']);
      const [, , rejected] = await fixture.deliveries(taskId);
      expect(rejected).toMatchObject({ attempts: 1, lastError: `the target responded with status ${status}` });
      expect(hook.accepted.map(({ body }) => textIn(body))).toEqual([undefined, 'a', 'c', undefined]);
      expect(fixture.logged).toEqual([
        {
          message: 'webhook delivery dead',
          taskId,
          deliveryId: hook.received[2]!.headers['x-acta-delivery'],
          version: rejected!.version,
          attempts: 1,
          reason: 'rejected',
          status,
        },
      ]);
    },
  );

  it.each([301, 308])(
    'with the permanent redirect %i is dead after one attempt, and is not followed',
    async (status) => {
      const hook = await receiverFor(() => ({ status, headers: { Location: '/moved' } }));
      fixture.startSender({ backoffMs: 600_000, maxBackoffMs: 600_000 });
      const taskId = await fixture.runTask(hook.urlOf(), 'a b c');
      expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'dead', 'delivered', 'delivered']);
      expect((await fixture.deliveries(taskId))[2]!.lastError).toBe(
        `the target responded with status ${status}; redirects are not followed`,
      );
      expect(hook.received.every(({ path }) => path === '/hook')).toBe(true);
    },
  );

  it('is sent again on request', async () => {
    let isCorrected = false;
    const hook = await receiverFor(() => (isCorrected ? 200 : 413));
    fixture.startSender();
    const taskId = await fixture.runTask(hook.urlOf(), 'a b');
    await fixture.untilSettled(taskId);
    isCorrected = true;
    expect(await fixture.outbox.retryDead({ taskId })).toHaveLength(1);
    expect(new Set(await fixture.untilSettled(taskId))).toEqual(new Set(['delivered']));
  });
});

describe('A delivery whose target fails', () => {
  it.each<[string, (nth: number) => WebhookResponse]>([
    ['the status 408', () => 408],
    ['the status 409', () => 409],
    ['the status 425', () => 425],
    ['the status 429', () => 429],
    ['the status 500', () => 500],
    ['the status 503', () => 503],
    ['a redirect to itself', () => ({ status: 307, headers: { Location: '/hook' } })],
    ['a temporary redirect without a location', () => 302],
    ['the status 413 with Retry-After', () => ({ status: 413, headers: { 'Retry-After': '0' } })],
    ['a Retry-After in the past', () => ({ status: 503, headers: { 'Retry-After': 'Thu, 01 Jan 1970 00:00:00 GMT' } })],
    ['a negative Retry-After', () => ({ status: 503, headers: { 'Retry-After': '-3600' } })],
    ['a malformed Retry-After', () => ({ status: 429, headers: { 'Retry-After': 'tomorrow' } })],
  ])('twice with %s is repeated in order until it is accepted', async (_what, response) => {
    const hook = await receiverFor((nth) => (nth <= 2 ? response(nth) : 200));
    fixture.startSender();
    const taskId = await fixture.runTask(hook.urlOf(), 'a b c');
    expect(new Set(await fixture.untilSettled(taskId))).toEqual(new Set(['delivered']));
    expect((await fixture.deliveries(taskId)).map(({ attempts }) => attempts)).toEqual([1, 1, 3, 1, 1]);
    expect(hook.received.map(({ body }) => textIn(body))).toEqual([undefined, 'a', 'b', 'b', 'b', 'c', undefined]);
  });

  it.each([
    ['seconds', { 'Retry-After': '1800' }, 1_800_000],
    ['a date', { Date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'Retry-After': 'Thu, 01 Jan 2026 00:10:00 GMT' }, 600_000],
    ['more seconds than the maximum', { 'Retry-After': '99999999999999999999' }, MAX_RETRY_AFTER_MS],
    ['a date in the year 9999', { 'Retry-After': 'Fri, 31 Dec 9999 23:59:59 GMT' }, MAX_RETRY_AFTER_MS],
  ])('waits as long as Retry-After requests with %s', async (_what, headers, expected) => {
    const hook = await fixture.receiver(() => ({ status: 503, headers: headers as Record<string, string> }));
    fixture.startSender();
    const taskId = await fixture.runTask(hook.urlOf(), 'a');
    await fixture.untilAttempted(taskId);
    expect(Math.abs((await waitOf(taskId)) - expected)).toBeLessThan(1_000);
    expect(hook.received).toHaveLength(1);
  });

  it('waits for the backoff if that is longer than Retry-After', async () => {
    const hook = await fixture.receiver(() => ({ status: 503, headers: { 'Retry-After': '1' } }));
    fixture.startSender({ backoffMs: 600_000, maxBackoffMs: 600_000 });
    const taskId = await fixture.runTask(hook.urlOf(), 'a');
    await fixture.untilAttempted(taskId);
    expect(await waitOf(taskId)).toBeGreaterThan(299_000);
  });

  it('is dead after the last attempt, which is logged and counted', async () => {
    const hook = await receiverFor(() => 500);
    fixture.startSender({ maxAttempts: 3 });
    const taskId = await fixture.runTask(hook.urlOf(), 'a b');
    expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'dead', 'delivered']);
    expect(fixture.logged).toMatchObject([
      { message: 'webhook delivery dead', taskId, attempts: 3, reason: 'attempts-exhausted', status: 500 },
    ]);
  });
});

describe('A webhook whose target responds with status 410', () => {
  const alice = aMember('alice');
  const typesOf = async (taskId: string) =>
    (await fixture.replica.events(alice.tenantId, taskId)).map(({ type }) => type);

  it('is removed, which the event log records with Acta as the actor, and gets no further request', async () => {
    const hook = await fixture.receiver((_webhook, nth) => (nth === 2 ? 410 : 200));
    const taskId = await fixture.runTask(hook.urlOf(), 'a b c');
    fixture.startSender();
    const states = await fixture.untilSettled(taskId);
    expect(states).toEqual(['delivered', 'dead', 'dead', 'dead', 'dead']);
    const stored = (await fixture.replica.reader.storedEvents(alice.tenantId, taskId, 0, 100)).at(-1)!;
    expect(stored.event).toMatchObject({
      type: 'PushConfigDeleted',
      facts: { subject: 'alice', configId: taskId, reason: 'status-410' },
    });
    expect(stored.stored).toMatchObject({ actor_subject: 'acta', actor_role: 'system' });
    expect((await fixture.replica.get(alice, taskId)).state).not.toHaveProperty('pushConfigs');
    expect(hook.received).toHaveLength(2);
  });

  it('keeps its deliveries, which show the reason', async () => {
    const hook = await fixture.receiver(() => 410);
    const taskId = await fixture.runTask(hook.urlOf(), 'a');
    fixture.startSender();
    await fixture.untilSettled(taskId);
    const [first, ...others] = await fixture.deliveries(taskId);
    expect(first).toMatchObject({ attempts: 1, lastError: 'the target responded with status 410' });
    expect(others.map(({ attempts, lastError }) => [attempts, lastError])).toEqual(
      others.map(() => [0, 'the webhook was retired, because its target responded with status 410']),
    );
    expect(fixture.logged[0]).toEqual({ message: 'webhook retired', taskId, status: 410, deadDeliveries: 3 });
    expect(fixture.logged.slice(1)).toMatchObject([
      { message: 'webhook delivery dead', attempts: 1, reason: 'retired', status: 410 },
      { message: 'webhook delivery dead', attempts: 0, reason: 'retired', status: 410 },
      { message: 'webhook delivery dead', attempts: 0, reason: 'retired', status: 410 },
    ]);
    expect(await fixture.outbox.retryDead({ taskId })).toEqual([]);
  });

  it('receives later events again after it is set again with the same id', async () => {
    let isRemoved = true;
    const hook = await fixture.receiver(() => (isRemoved ? 410 : 200));
    fixture.startSender();
    const taskId = await fixture.runTask(hook.urlOf(), 'a');
    await fixture.untilSettled(taskId);
    isRemoved = false;
    await setWebhook(taskId, hook.urlOf('/again'));
    expect((await fixture.replica.get(alice, taskId)).state.pushConfigs).toEqual([
      { subject: 'alice', configId: taskId },
    ]);
    expect(await fixture.outbox.retryDead({ taskId })).toHaveLength(3);
    expect(new Set(await fixture.untilSettled(taskId))).toEqual(new Set(['delivered']));
    expect(hook.accepted.map(({ path }) => path)).toEqual(['/again', '/again', '/again']);
  });

  it.each([
    ['set again', (taskId: string) => setWebhook(taskId, 'http://127.0.0.1:9/new')],
    ['deleted', (taskId: string) => apply(taskId, { type: 'DeletePushConfig', subject: 'alice', configId: taskId })],
    [
      'claimed by a different sender',
      (taskId: string) =>
        fixture.acta.sql(`update push_config set lease = gen_random_uuid() where task_id = $1`, [taskId]),
    ],
  ])('is not removed when it was %s before the response', async (_what, change) => {
    const taskId = await fixture.runTask('http://127.0.0.1:9/old', 'a');
    const [claim] = await fixture.outbox.claim(new SenderSlots(4).limits(), 60_000);
    await change(taskId);
    const before = await typesOf(taskId);
    const { database, writer } = fixture.replica;
    const retirement = new WebhookRetirement(database, writer);
    expect(await retirement.retire(claim!, claim!.next!.version, 'the target responded with status 410')).toEqual([]);
    expect(await typesOf(taskId)).toEqual(before);
    expect((await fixture.deliveries(taskId)).filter(({ state }) => state === 'dead')).toEqual([]);
  });

  it('does not affect other webhooks of its task', async () => {
    const removed = await fixture.receiver(() => 410);
    const taskId = await fixture.runTask(removed.urlOf(), 'a');
    await setWebhook(taskId, 'http://127.0.0.1:9/other', 'other');
    fixture.startSender();
    await fixture.untilSettled(taskId);
    expect((await fixture.replica.get(alice, taskId)).state.pushConfigs).toEqual([
      { subject: 'alice', configId: 'other' },
    ]);
    expect(await fixture.acta.sql('select config_id from push_config where task_id = $1', [taskId])).toEqual([
      { config_id: 'other' },
    ]);
  });

  const setWebhook = (taskId: string, url: string, configId = taskId) =>
    apply(
      taskId,
      { type: 'SetPushConfig', push: { subject: 'alice', configId, protocolVersion: '1.0', url } },
      { url },
    );

  async function apply(taskId: string, command: TaskCommand, webhook?: WebhookTarget): Promise<void> {
    const { tenantId, subject, role } = alice;
    const envelope = { tenantId, taskId, actor: { subject, role }, ...newInternalCommand('test') };
    await fixture.replica.writer.apply(webhook === undefined ? envelope : { ...envelope, webhook }, command);
  }
});
