import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Principal } from '@app/domain';
import type { ReceivedWebhook, WebhookReceiver } from '../../../../test/support/clients/webhook-receiver.js';
import { sizeOf } from '../../../../test/support/extended.js';
import { aMember } from '../../../../test/support/tasks.js';
import { WebhookFixture } from '../../../../test/support/webhook-fixture.js';

const SILENT_TARGETS = sizeOf({ smoke: 40, full: 250 });
/** Of 32 slots, the share of one tenant for origins without a success. */
const SHARE = 12;
/** Longer than the test: no request ends with a timeout, so a delivery that arrives has not waited for one. */
const SETUP = { slots: 32, timeoutMs: 120_000, leaseMs: 600_000 };

const alice = aMember('alice');
const bob = aMember('bob', { tenantId: 'umbrella' });
/** Every host name is this machine, so that each is a different origin on one server. */
const resolve = async () => [{ address: '127.0.0.1', family: 4 }];

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await WebhookFixture.open();
});
afterEach(() => fixture?.close());

const originOf = (receiver: WebhookReceiver, name: string) => `http://${name}.example:${receiver.port}`;

/** Runs tasks of a tenant with one webhook each. */
async function runTasks(principal: Principal, urls: readonly string[]): Promise<void> {
  for (const [n, url] of urls.entries()) await fixture.runTask(url, `task-${n}`, { principal });
}

const silentUrls = (receiver: WebhookReceiver, count: number, prefix = 'silent') =>
  Array.from({ length: count }, (_, n) => `${originOf(receiver, `${prefix}-${n}`)}/hook`);

describe('A tenant whose targets never respond', () => {
  it(`occupies its share of the slots and does not delay a different tenant (${SILENT_TARGETS} targets)`, async () => {
    const silent = await fixture.receiver(() => 'never');
    const hook = await fixture.receiver();
    await runTasks(alice, silentUrls(silent, SILENT_TARGETS));
    fixture.startSender({ ...SETUP, resolve });
    await silent.until(({ received }) => received.length === SHARE);
    await runTasks(bob, [hook.urlOf('/a'), hook.urlOf('/b'), originOf(hook, 'new')]);
    await hook.until(({ accepted }) => accepted.length === 9);
    expect(silent.received).toHaveLength(SHARE);
  });

  it('does not delay a tenant whose webhooks have the same origin and the same URL', async () => {
    const isOfAlice = ({ text }: ReceivedWebhook) => ofAlice.some((id) => text.includes(id));
    const ofAlice: string[] = [];
    const hook = await fixture.receiver((webhook) => (isOfAlice(webhook) ? 'never' : 200));
    for (const path of ['/shared', '/shared', '/other', '/third']) {
      ofAlice.push(await fixture.runTask(hook.urlOf(path), 'a'));
    }
    fixture.startSender(SETUP);
    await hook.until(({ received }) => received.length === 2);
    await runTasks(bob, [hook.urlOf('/shared'), hook.urlOf('/other')]);
    await hook.until(({ accepted }) => accepted.length === 6);
    expect(hook.received.filter(isOfAlice)).toHaveLength(2);
  });

  it('does not delay a different tenant when each target has accepted one delivery before', async () => {
    const accepted = new Set<string>();
    const flaky = await fixture.receiver(({ headers }) => {
      const isFirst = !accepted.has(headers.host!);
      accepted.add(headers.host!);
      return isFirst ? 200 : 'never';
    });
    const hook = await fixture.receiver();
    await runTasks(alice, silentUrls(flaky, SILENT_TARGETS));
    fixture.startSender({ ...SETUP, resolve });
    // Each target has accepted its first delivery, and those that got a second one are waited for.
    await flaky.until(({ received }) => received.filter(({ status }) => status === null).length >= SHARE);
    await runTasks(bob, [hook.urlOf()]);
    await hook.until(({ accepted: got }) => got.length === 3);
  });

  it('does not delay its own proven targets', async () => {
    const silent = await fixture.receiver(() => 'never');
    const hook = await fixture.receiver();
    fixture.startSender({ ...SETUP, resolve });
    await runTasks(alice, [hook.urlOf()]);
    await hook.until(({ accepted }) => accepted.length === 3);
    await runTasks(alice, silentUrls(silent, SHARE + 4));
    await silent.until(({ received }) => received.length === SHARE);
    await runTasks(alice, [hook.urlOf(), hook.urlOf('/new')]);
    await hook.until(({ accepted }) => accepted.length === 9);
    expect(silent.received).toHaveLength(SHARE);
  });
});

describe('Five tenants whose targets never respond', () => {
  it('do not delay a sixth tenant', async () => {
    const silent = await fixture.receiver(() => 'never');
    const hook = await fixture.receiver();
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await runTasks(aMember(name, { tenantId: name }), silentUrls(silent, 8, name));
    }
    fixture.startSender({ ...SETUP, resolve });
    await silent.until(({ received }) => received.length >= 20);
    await runTasks(bob, [hook.urlOf(), hook.urlOf('/b')]);
    await hook.until(({ accepted }) => accepted.length === 6);
  });
});

describe('Tenants with many due webhooks', () => {
  it('take turns for the slot of a sender with one slot', async () => {
    const hook = await fixture.receiver();
    const tenants = ['a', 'b', 'c'].map((tenantId) => aMember('alice', { tenantId }));
    for (const principal of tenants) {
      await runTasks(
        principal,
        Array.from({ length: 4 }, (_, n) => hook.urlOf(`/${principal.tenantId}/${n}`)),
      );
    }
    fixture.startSender({ ...SETUP, slots: 1 });
    await hook.until(({ accepted }) => accepted.length === 36);
    const turns = hook.accepted.filter((_webhook, index) => index % 3 === 0).map(({ path }) => path[1]);
    expect(turns.join('')).toBe('abcabcabcabc');
  });

  it('are served by two senders without a repeated delivery', async () => {
    const hook = await fixture.receiver();
    const other = await fixture.addReplica();
    for (const principal of [alice, bob])
      await runTasks(
        principal,
        Array.from({ length: 10 }, () => hook.urlOf()),
      );
    fixture.startSender(SETUP);
    fixture.startSender(SETUP, other);
    await hook.until(({ accepted }) => accepted.length >= 60);
    expect(new Set(hook.accepted.map(({ headers }) => headers['x-acta-delivery'])).size).toBe(60);
    expect(hook.received).toHaveLength(60);
  });
});
