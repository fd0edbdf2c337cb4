import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PushPolicy } from '@app/tasks';
import type { Replica } from '../../../../test/support/acta.js';
import { type WebhookResponse, stateIn } from '../../../../test/support/clients/webhook-receiver.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import { textIn, WebhookFixture } from '../../../../test/support/webhook-fixture.js';

const alice = aMember('alice');
const V1 = { protocolVersion: '1.0' };

describe('WebhookSender', () => {
  let fixture: WebhookFixture;
  let replica: Replica;

  beforeEach(async () => {
    fixture = await WebhookFixture.open();
    ({ replica } = fixture);
  });
  afterEach(() => fixture?.close());

  const settled = (taskId: string, states: readonly string[], attempts = 1) =>
    fixture.untilDeliveries(taskId, (found) => found.every((d) => states.includes(d.state) && d.attempts >= attempts));

  // F35
  it('sends the first event and the outcome of a fast task to a webhook of its message', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    const { taskId } = await replica.sendAndWait(alice, aMessage('one two'), { ...V1, push: { url: hook.urlOf() } });
    await hook.until(({ accepted }) => accepted.length === 4);
    expect(hook.accepted.map(stateIn)).toEqual([
      'TASK_STATE_WORKING',
      'TASK_STATE_WORKING',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ]);
    const [first] = hook.accepted;
    expect(first!.headers['content-type']).toBe('application/a2a+json');
    expect(first!.body).toMatchObject({ statusUpdate: { taskId } });
    await settled(taskId, ['delivered']);
  });

  // [A2A-PUSH-3]
  // F32
  it('sends each event once and in order to a target that accepts the third attempt', async () => {
    const hook = await fixture.receiver((_delivery, nth) => (nth <= 2 ? 500 : 200));
    fixture.startSender();
    const { taskId } = await replica.sendAndWait(alice, aMessage('one two three'), {
      ...V1,
      push: { url: hook.urlOf() },
    });
    await hook.until(({ accepted }) => accepted.length === 5);
    const found = await settled(taskId, ['delivered']);
    expect(found.map(({ attempts }) => attempts)).toEqual([3, 1, 1, 1, 1]);
    const ids = hook.received.map(({ headers }) => headers['x-acta-delivery']);
    expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]]);
    expect(new Set(hook.accepted.map(({ headers }) => headers['x-acta-delivery'])).size).toBe(5);
    expect(hook.received).toHaveLength(7);
    expect(hook.accepted.map(({ body }) => textIn(body))).toEqual([undefined, 'one', 'two', 'three', undefined]);
  });

  // [A2A-PUSH-2]
  it('sends the configured token and authentication', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    const push = { url: hook.urlOf(), token: 'shown', authentication: { scheme: 'Bearer', credentials: 'secret' } };
    await replica.sendAndWait(alice, aMessage('hi'), { ...V1, push });
    await hook.until(({ accepted }) => accepted.length === 3);
    for (const { headers } of hook.accepted) {
      expect(headers).toMatchObject({ 'x-a2a-notification-token': 'shown', authorization: 'Bearer secret' });
    }
  });

  it('sends the whole task, with the status of the event, to a webhook of 0.3', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    const { taskId } = await replica.sendAndWait(alice, aMessage('one'), {
      protocolVersion: '0.3',
      push: { url: hook.urlOf() },
    });
    await hook.until(({ accepted }) => accepted.length === 3);
    expect(hook.accepted.map(stateIn)).toEqual(['working', 'working', 'completed']);
    for (const { body, headers } of hook.accepted) {
      expect(body).toMatchObject({ kind: 'task', id: taskId });
      expect(headers['content-type']).toBe('application/json');
    }
  });

  it('marks a delivery as dead after the last attempt, continues with the next one, and sends the dead one on request', async () => {
    let down = true;
    const hook = await fixture.receiver((delivery) => (down && stateIn(delivery) === 'TASK_STATE_WORKING' ? 503 : 200));
    fixture.startSender({ maxAttempts: 2 });
    const { taskId } = await replica.sendAndWait(alice, aMessage('one'), { ...V1, push: { url: hook.urlOf() } });
    const found = await settled(taskId, ['dead', 'delivered']);
    expect(found.map(({ state, attempts, lastError }) => [state, attempts, lastError])).toEqual([
      ['dead', 2, 'the target responded with status 503'],
      ['dead', 2, 'the target responded with status 503'],
      ['delivered', 1, null],
    ]);
    down = false;
    expect(await fixture.outbox.retryDead({ taskId })).toHaveLength(2);
    await settled(taskId, ['delivered']);
    expect(hook.accepted.map(stateIn)).toEqual(['TASK_STATE_COMPLETED', 'TASK_STATE_WORKING', 'TASK_STATE_WORKING']);
  });

  // F34
  it('does not delay other webhooks for a target that never responds', async () => {
    const silent = await fixture.receiver(() => 'never');
    const others = await Promise.all(Array.from({ length: 9 }, () => fixture.receiver()));
    const sender = fixture.startSender({ timeoutMs: 25_000, leaseMs: 60_000, slots: 4 });
    const tasks = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        replica.sendAndWait(alice, aMessage(`task ${n}`), {
          ...V1,
          push: { url: n % 10 === 0 ? silent.urlOf() : others[(n % 10) - 1]!.urlOf() },
        }),
      ),
    );
    await Promise.all(others.map((hook) => hook.until(({ accepted }) => accepted.length === 12)));
    // All of this happened while one response was outstanding.
    expect(silent.received).toHaveLength(1);
    const stuck = await settled(tasks[0]!.taskId, ['pending'], 0);
    expect(stuck).toHaveLength(4);
    await sender.stop();
    fixture.startSender({ timeoutMs: 1_000, slots: 4 });
    await silent.until(({ received }) => received.length >= 2);
    const attempted = await fixture.untilAttempted(tasks[0]!.taskId);
    expect(attempted.lastError).toBe('no response within 1 s');
  });

  it('keeps the order across a restart', async () => {
    const hook = await fixture.receiver((_delivery, nth): WebhookResponse => (nth === 3 ? 'never' : 200));
    const first = fixture.startSender();
    const words = Array.from({ length: 8 }, (_, n) => `w${n}`);
    const { taskId } = await replica.sendAndWait(alice, aMessage(words.join(' ')), {
      ...V1,
      push: { url: hook.urlOf() },
    });
    await hook.until(({ received }) => received.length === 3);
    await first.stop();
    fixture.startSender();
    await settled(taskId, ['delivered']);
    expect(hook.accepted.map(({ body }) => textIn(body))).toEqual([undefined, ...words, undefined]);
    expect(hook.received).toHaveLength(11);
    expect((await fixture.deliveries(taskId)).every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('sends to a webhook only while no other sender does', async () => {
    const hook = await fixture.receiver();
    const other = await fixture.addReplica();
    fixture.startSender();
    fixture.startSender({}, other);
    const tasks = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? replica : other).sendAndWait(alice, aMessage(`a b c ${n}`), { ...V1, push: { url: hook.urlOf() } }),
      ),
    );
    await hook.until(({ accepted }) => accepted.length >= 60);
    for (const { taskId } of tasks) await settled(taskId, ['delivered']);
    expect(hook.received).toHaveLength(60);
    for (const { taskId } of tasks) {
      const sent = hook.accepted.filter(({ body }) => JSON.stringify(body).includes(taskId));
      expect(sent.map(({ body }) => textIn(body)).slice(1, 4)).toEqual(['a', 'b', 'c']);
    }
  });

  // F36
  it('is not delayed by a transaction that stays open', async () => {
    const hook = await fixture.receiver();
    fixture.startSender();
    const open = await replica.database.pool.connect();
    await open.query('begin; insert into context values ($$other$$, $$o$$, $$c$$, $$r$$)');
    try {
      await replica.sendAndWait(alice, aMessage('hi'), { ...V1, push: { url: hook.urlOf() } });
      await hook.until(({ accepted }) => accepted.length === 3);
    } finally {
      await open.query('rollback');
      open.release();
    }
  });

  // [A2A-PUSH-5]
  // F33
  it.each([
    ['127.0.0.1', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['10.1.2.3', 'private'],
  ])('reports that a host which resolves to %s is not allowed', async (address, what) => {
    const hook = await fixture.receiver();
    fixture.startSender({
      policy: new PushPolicy(true, false),
      // One public address does not hide the other.
      resolve: async () => [
        { address: '203.0.114.1', family: 4 },
        { address, family: address.includes(':') ? 6 : 4 },
      ],
    });
    const url = `https://hook.example:${hook.port}/`;
    const { taskId } = await replica.sendAndWait(alice, aMessage('hi'), { ...V1, push: { url } });
    await settled(taskId, ['pending'], 0);
    const attempted = await fixture.untilAttempted(taskId);
    expect(attempted.lastError).toContain(what);
    expect(attempted.lastError).toContain('not allowed');
    expect(hook.received).toHaveLength(0);
  });

  // F33
  it('does not follow a redirect', async () => {
    const inner = await fixture.receiver();
    const hook = await fixture.receiver(() => ({ status: 307, headers: { Location: inner.urlOf() } }));
    fixture.startSender();
    const { taskId } = await replica.sendAndWait(alice, aMessage('hi'), { ...V1, push: { url: hook.urlOf() } });
    const attempted = await fixture.untilAttempted(taskId);
    expect(attempted.lastError).toBe('the target responded with status 307; redirects are not followed');
    expect(inner.received).toHaveLength(0);
  });
});
