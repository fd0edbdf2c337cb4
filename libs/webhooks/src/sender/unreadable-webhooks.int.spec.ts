import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '@app/domain';
import { ServerSecret } from '@app/storage';
import { WebhookOutbox } from '@app/webhooks';
import { aMember } from '../../../../test/support/tasks.js';
import { WebhookFixture } from '../../../../test/support/webhook-fixture.js';

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await WebhookFixture.open();
});
afterEach(() => fixture?.close());

const NOT_DECRYPTED = 'the webhook cannot be decrypted with the secret of this server';

describe('A webhook that cannot be used', () => {
  it.each([
    [
      'its target is of a different webhook',
      `update push_config set sealed_target =
      (select sealed_target from push_config where task_id <> $1 limit 1) where task_id = $1`,
      NOT_DECRYPTED,
    ],
    [
      'its target has a changed byte',
      `update push_config set sealed_target =
      set_byte(sealed_target, 20, 255 - get_byte(sealed_target, 20)) where task_id = $1`,
      NOT_DECRYPTED,
    ],
    ['its target is empty', `update push_config set sealed_target = '' where task_id = $1`, NOT_DECRYPTED],
    [
      'its target is truncated',
      `update push_config set sealed_target = substring(sealed_target for 5) where task_id = $1`,
      NOT_DECRYPTED,
    ],
    ['the key of its task is corrupt', `update task_key set wrapped_key = '\\x00' where task_id = $1`, NOT_DECRYPTED],
    ['its task was erased', `delete from task_key where task_id = $1`, 'the task was erased'],
    [
      'its A2A version is unknown',
      `update push_config set protocol_version = '9.9' where task_id = $1`,
      'the webhook has the A2A version "9.9", which this server does not have',
    ],
    [
      'its A2A version is the name of an object property',
      `update push_config set protocol_version = 'constructor' where task_id = $1`,
      'the webhook has the A2A version "constructor", which this server does not have',
    ],
  ])('because %s has dead deliveries and does not hold back other webhooks', async (_why, corrupt, error) => {
    const hook = await fixture.receiver();
    const tenants = ['acme', 'umbrella', 'wayne'].map((tenantId) => aMember('alice', { tenantId }));
    const taskIds: string[] = [];
    for (const principal of tenants) taskIds.push(await fixture.runTask(hook.urlOf(), 'a', { principal }));
    const [, broken] = taskIds as [string, string, string];
    await fixture.acta.sql(corrupt, [broken]);
    fixture.startSender();
    for (const [index, taskId] of taskIds.entries()) {
      const expected = taskId === broken ? 'dead' : 'delivered';
      expect(await fixture.untilSettled(taskId, tenants[index])).toEqual([expected, expected, expected]);
    }
    const dead = await fixture.deliveries(broken, tenants[1]);
    expect(dead.map(({ lastError }) => lastError)).toEqual([error, error, error]);
    expect(hook.received).toHaveLength(6);
    expect(fixture.logged.map(({ message, taskId }) => [message, taskId])).toEqual(
      dead.map(() => ['webhook delivery dead', broken]),
    );
  });

  it('because a server with a different secret reads it is claimed together with others', async () => {
    const hook = await fixture.receiver();
    await fixture.runTask(hook.urlOf(), 'a');
    const { database } = fixture.replica;
    const other = WebhookOutbox.over({ database, secret: new ServerSecret('a different secret, for the same rows') });
    const [claim] = await other.claim(
      {
        slots: 4,
        unprovenSlots: 4,
        provenOrigins: [],
        saturatedKeys: [],
        saturatedTenants: [],
        unprovenTenants: [],
        lastTenant: '',
      },
      1_000,
    );
    expect(claim).toMatchObject({ target: 'unreadable', next: { attempts: 0 } });
  });
});

describe('A delivery that cannot be created', () => {
  it('counts as an attempt, is dead after the last one, and does not hold back the next ones', async () => {
    const hook = await fixture.receiver();
    const errors: unknown[] = [];
    const events = fixture.replica.reader.events.bind(fixture.replica.reader);
    fixture.replica.reader.events = async (...args) => {
      const found = await events(...args);
      if (found[0]?.type === 'RunStarted') throw new TypeError('a defect');
      return found as RecordedEvent[];
    };
    fixture.startSender({ maxAttempts: 2, onError: (error) => errors.push(error) });
    const taskId = await fixture.runTask(hook.urlOf(), 'a');
    expect(await fixture.untilSettled(taskId)).toEqual(['dead', 'delivered', 'delivered']);
    expect((await fixture.deliveries(taskId))[0]).toMatchObject({
      attempts: 2,
      lastError: 'the request could not be created',
    });
    expect(errors).toEqual([new TypeError('a defect'), new TypeError('a defect')]);
  });
});
