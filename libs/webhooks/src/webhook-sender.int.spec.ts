import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PushOutbox, type PushSender } from '@app/webhooks';
import { PushPolicy } from '@app/tasks';
import { Acta, anAgent, type Replica } from '../../../test/support/acta.js';
import { senderOf, type SenderSetup } from '../../../test/support/push-senders.js';
import { aMember, aMessage } from '../../../test/support/tasks.js';
import { type Answer, stateIn, WebhookReceiver } from '../../../test/support/clients/webhook-receiver.js';

const alice = aMember('alice');
const V1 = { protocolVersion: '1.0' };

/** Says as many things as its text has words, and completes. */
const talker = anAgent(async (ctx) => {
  for (const word of ctx.text.split(' ')) await ctx.working(word);
});

describe('a push sender', () => {
  let acta: Acta;
  let replica: Replica;
  let outbox: PushOutbox;
  const cleanups: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    acta = await Acta.open();
    replica = await acta.replica({ agents: [talker] });
    outbox = new PushOutbox(replica.log);
  });

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await acta.close();
  });

  const receiver = async (...args: Parameters<typeof WebhookReceiver.start>): Promise<WebhookReceiver> => {
    const started = await WebhookReceiver.start(...args);
    cleanups.push(() => started.close());
    return started;
  };
  const sender = (setup?: SenderSetup, of = replica): PushSender => {
    const started = senderOf(of, setup);
    cleanups.push(() => started.stop());
    return started;
  };
  const deliveries = (taskId: string) => outbox.ofTask('acme', taskId, 0, 1_000);
  const settled = async (taskId: string, states: readonly string[], attempts = 1) => {
    for (let tries = 0; tries < 300; tries += 1) {
      const found = await deliveries(taskId);
      if (found.length > 0 && found.every((d) => states.includes(d.state) && d.attempts >= attempts)) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`not settled: ${JSON.stringify(await deliveries(taskId))}`);
  };

  it('tells a webhook that came with the message of the first event and of the end of a fast task (F35)', async () => {
    const hook = await receiver();
    sender();
    const { taskId } = await replica.ask(alice, aMessage('one two'), { ...V1, push: { url: hook.urlOf() } });
    await hook.until(({ taken }) => taken.length === 4);
    expect(hook.taken.map(stateIn)).toEqual([
      'TASK_STATE_WORKING',
      'TASK_STATE_WORKING',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ]);
    const [first] = hook.taken;
    expect(first!.headers['content-type']).toBe('application/a2a+json');
    expect(first!.body).toMatchObject({ statusUpdate: { taskId } });
    await settled(taskId, ['delivered']);
  });

  // [A2A-PUSH-3]
  it('delivers in order, and once, what the target takes at the third attempt (F32)', async () => {
    const hook = await receiver((_push, nth) => (nth <= 2 ? 500 : 200));
    sender();
    const { taskId } = await replica.ask(alice, aMessage('one two three'), { ...V1, push: { url: hook.urlOf() } });
    await hook.until(({ taken }) => taken.length === 5);
    const found = await settled(taskId, ['delivered']);
    expect(found.map(({ attempts }) => attempts)).toEqual([3, 1, 1, 1, 1]);
    const ids = hook.received.map(({ headers }) => headers['x-acta-delivery']);
    expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]]);
    expect(new Set(hook.taken.map(({ headers }) => headers['x-acta-delivery'])).size).toBe(5);
    expect(hook.received).toHaveLength(7);
    expect(hook.taken.map(({ body }) => textIn(body))).toEqual([undefined, 'one', 'two', 'three', undefined]);
  });

  // [A2A-PUSH-2]
  it('sends the configured token and authentication', async () => {
    const hook = await receiver();
    sender();
    const push = { url: hook.urlOf(), token: 'shown', authentication: { scheme: 'Bearer', credentials: 'secret' } };
    await replica.ask(alice, aMessage('hi'), { ...V1, push });
    await hook.until(({ taken }) => taken.length === 3);
    for (const { headers } of hook.taken) {
      expect(headers).toMatchObject({ 'x-a2a-notification-token': 'shown', authorization: 'Bearer secret' });
    }
  });

  it('tells a 0.3 webhook of the whole task, with the status that the event had', async () => {
    const hook = await receiver();
    sender();
    const { taskId } = await replica.ask(alice, aMessage('one'), {
      protocolVersion: '0.3',
      push: { url: hook.urlOf() },
    });
    await hook.until(({ taken }) => taken.length === 3);
    expect(hook.taken.map(stateIn)).toEqual(['working', 'working', 'completed']);
    for (const { body, headers } of hook.taken) {
      expect(body).toMatchObject({ kind: 'task', id: taskId });
      expect(headers['content-type']).toBe('application/json');
    }
  });

  it('gives up after its last attempt, goes on with what follows, and sends the dead when asked to', async () => {
    let down = true;
    const hook = await receiver((push) => (down && stateIn(push) === 'TASK_STATE_WORKING' ? 503 : 200));
    sender({ maxAttempts: 2 });
    const { taskId } = await replica.ask(alice, aMessage('one'), { ...V1, push: { url: hook.urlOf() } });
    const found = await settled(taskId, ['dead', 'delivered']);
    expect(found.map(({ state, attempts, lastError }) => [state, attempts, lastError])).toEqual([
      ['dead', 2, 'answered 503'],
      ['dead', 2, 'answered 503'],
      ['delivered', 1, null],
    ]);
    down = false;
    expect(await outbox.retryDead({ taskId })).toHaveLength(2);
    await settled(taskId, ['delivered']);
    expect(hook.taken.map(stateIn)).toEqual(['TASK_STATE_COMPLETED', 'TASK_STATE_WORKING', 'TASK_STATE_WORKING']);
  });

  it('holds nobody up behind a target that never answers (F34)', async () => {
    const silent = await receiver(() => 'never');
    const others = await Promise.all(Array.from({ length: 9 }, () => receiver()));
    const patient = sender({ timeoutMs: 25_000, leaseMs: 60_000, slots: 4 });
    const tasks = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        replica.ask(alice, aMessage(`task ${n}`), {
          ...V1,
          push: { url: n % 10 === 0 ? silent.urlOf() : others[(n % 10) - 1]!.urlOf() },
        }),
      ),
    );
    await Promise.all(others.map((hook) => hook.until(({ taken }) => taken.length === 12)));
    // All this in the time of the one answer that does not come.
    expect(silent.received).toHaveLength(1);
    const stuck = await settled(tasks[0]!.taskId, ['pending'], 0);
    expect(stuck).toHaveLength(4);
    await patient.stop();
    sender({ timeoutMs: 1_000, slots: 4 });
    await silent.until(({ received }) => received.length >= 2);
    const [tried] = await settledFirst(tasks, deliveries);
    expect(tried!.lastError).toBe('no answer within 1 s');
  });

  it('keeps the order over a restart in the middle', async () => {
    const hook = await receiver((_push, nth): Answer => (nth === 3 ? 'never' : 200));
    const first = sender();
    const words = Array.from({ length: 8 }, (_, n) => `w${n}`);
    const { taskId } = await replica.ask(alice, aMessage(words.join(' ')), { ...V1, push: { url: hook.urlOf() } });
    await hook.until(({ received }) => received.length === 3);
    await first.stop();
    sender();
    await settled(taskId, ['delivered']);
    expect(hook.taken.map(({ body }) => textIn(body))).toEqual([undefined, ...words, undefined]);
    expect(hook.received).toHaveLength(11);
    expect((await deliveries(taskId)).every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('is one of several, of which only one tells a webhook at a time', async () => {
    const hook = await receiver();
    const other = await acta.replica({ agents: [talker] });
    sender();
    sender({}, other);
    const tasks = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? replica : other).ask(alice, aMessage(`a b c ${n}`), { ...V1, push: { url: hook.urlOf() } }),
      ),
    );
    await hook.until(({ taken }) => taken.length >= 60);
    for (const { taskId } of tasks) await settled(taskId, ['delivered']);
    expect(hook.received).toHaveLength(60);
    for (const { taskId } of tasks) {
      const told = hook.taken.filter(({ body }) => JSON.stringify(body).includes(taskId));
      expect(told.map(({ body }) => textIn(body)).slice(1, 4)).toEqual(['a', 'b', 'c']);
    }
  });

  it('is not held up by a transaction that stays open (F36)', async () => {
    const hook = await receiver();
    sender();
    const open = await replica.database.pool.connect();
    await open.query('begin; insert into context values ($$other$$, $$o$$, $$c$$, $$r$$)');
    try {
      await replica.ask(alice, aMessage('hi'), { ...V1, push: { url: hook.urlOf() } });
      await hook.until(({ taken }) => taken.length === 3);
    } finally {
      await open.query('rollback');
      open.release();
    }
  });

  // [A2A-PUSH-5]
  it.each([
    ['127.0.0.1', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['10.1.2.3', 'private'],
  ])('refuses a name that leads to %s, and says so (F33)', async (address, what) => {
    const hook = await receiver();
    sender({
      policy: new PushPolicy(true, false),
      // One public address does not hide the other.
      resolve: async () => [
        { address: '203.0.114.1', family: 4 },
        { address, family: address.includes(':') ? 6 : 4 },
      ],
    });
    const url = `https://hook.example:${hook.port}/`;
    const { taskId } = await replica.ask(alice, aMessage('hi'), { ...V1, push: { url } });
    await settled(taskId, ['pending'], 0);
    const [tried] = await triedOf(taskId, deliveries);
    expect(tried!.lastError).toContain(what);
    expect(tried!.lastError).toContain('not allowed');
    expect(hook.received).toHaveLength(0);
  });

  it('follows no redirect (F33)', async () => {
    const inner = await receiver();
    const hook = await receiver(() => ({ status: 307, headers: { Location: inner.urlOf() } }));
    sender();
    const { taskId } = await replica.ask(alice, aMessage('hi'), { ...V1, push: { url: hook.urlOf() } });
    const [tried] = await triedOf(taskId, deliveries);
    expect(tried!.lastError).toBe('answered 307; redirects are not followed');
    expect(inner.received).toHaveLength(0);
  });
});

type Deliveries = (taskId: string) => ReturnType<PushOutbox['ofTask']>;

/** The deliveries of a task once the first of them was tried. */
async function triedOf(taskId: string, deliveries: Deliveries) {
  for (;;) {
    const found = await deliveries(taskId);
    if (found[0] !== undefined && found[0].attempts > 0) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function settledFirst(tasks: readonly { taskId: string }[], deliveries: Deliveries) {
  return triedOf(tasks[0]!.taskId, deliveries);
}

/** What the agent says in an update. */
function textIn(body: unknown): string | undefined {
  const { statusUpdate } = body as { statusUpdate?: { status: { message?: { parts: { text: string }[] } } } };
  return statusUpdate?.status.message?.parts[0]?.text;
}
