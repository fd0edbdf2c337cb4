import type { JsonObject } from '@app/domain';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { call, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';

const server = useServer({ ACTA_PUSH_ALLOW_PRIVATE: 'true' });
const tokens = {} as Record<'alice' | 'root' | 'carol', string>;
beforeAll(async () => {
  tokens.alice = await server.database.createKey({ subject: 'alice' });
  tokens.root = await server.database.createKey({ subject: 'root', role: 'admin' });
  tokens.carol = await server.database.createKey({ subject: 'carol', role: 'admin' });
});

interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly token?: string;
}

/** Sets, gets, lists and deletes webhooks in one version of A2A. */
const VERSIONS = {
  '1.0': {
    set: (taskId: string, config: JsonObject) =>
      ['CreateTaskPushNotificationConfig', { taskId, ...config }] as [string, JsonObject],
    get: (taskId: string, id: string) => ['GetTaskPushNotificationConfig', { taskId, id }] as [string, JsonObject],
    list: (taskId: string) => ['ListTaskPushNotificationConfigs', { taskId }] as [string, JsonObject],
    remove: (taskId: string, id: string) =>
      ['DeleteTaskPushNotificationConfig', { taskId, id }] as [string, JsonObject],
    one: (result: unknown) => result as Webhook,
    many: (result: unknown) => (result as { configs: Webhook[] }).configs,
  },
  '0.3': {
    set: (taskId: string, config: JsonObject) =>
      ['tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig: config }] as [string, JsonObject],
    get: (id: string, configId: string) =>
      ['tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: configId }] as [string, JsonObject],
    list: (id: string) => ['tasks/pushNotificationConfig/list', { id }] as [string, JsonObject],
    remove: (id: string, configId: string) =>
      ['tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: configId }] as [string, JsonObject],
    one: (result: unknown) => (result as { pushNotificationConfig: Webhook }).pushNotificationConfig,
    many: (result: unknown) =>
      (result as { pushNotificationConfig: Webhook }[]).map(({ pushNotificationConfig }) => pushNotificationConfig),
  },
} as const;

describe.each(['1.0', '0.3'] as const)('The webhooks of two users of one task in A2A %s', (version) => {
  const { set, get, list, remove, one, many } = VERSIONS[version];
  const as = (user: keyof typeof tokens) => ({
    call: async ([method, params]: [string, JsonObject]) =>
      (await call(server.url, tokens[user], version, method, params)).body,
  });
  const newTask = async () => (await new V1Caller(server.url, tokens.alice).send('ask')).id;
  const hook = (user: string) => `http://127.0.0.1:9/${user}`;

  it.each(['the id of the task', 'the same id'])('are separate with %s', async (which) => {
    const taskId = await newTask();
    const id: { id?: string } = which === 'the same id' ? { id: 'shared' } : {};
    for (const user of ['alice', 'root'] as const) {
      const { result } = await as(user).call(
        set(taskId, { ...(id as JsonObject), url: hook(user), token: `token of ${user}` }),
      );
      expect(one(result)).toMatchObject({ id: id.id ?? taskId, url: hook(user) });
    }
    const own = { id: id.id ?? taskId, url: hook('alice'), token: 'token of alice' };
    expect(many((await as('alice').call(list(taskId))).result)).toMatchObject([own]);
    expect(one((await as('alice').call(get(taskId, own.id))).result)).toMatchObject(own);
    expect(one((await as('root').call(get(taskId, own.id))).result)).toMatchObject({ url: hook('root') });
  });

  it('are listed for an admin with an id that get and delete accept', async () => {
    const taskId = await newTask();
    await as('alice').call(set(taskId, { id: 'hers', url: hook('alice') }));
    await as('root').call(set(taskId, { id: 'hers', url: hook('root') }));
    const listed = many((await as('root').call(list(taskId))).result);
    expect(listed.map(({ url }) => url).toSorted()).toEqual([hook('alice'), hook('root')]);
    const hers = listed.find(({ url }) => url === hook('alice'))!;
    expect(hers.id).toMatch(/^webhook-[\w-]{22}$/);
    expect(one((await as('root').call(get(taskId, hers.id))).result)).toMatchObject({ url: hook('alice') });
    // A member cannot use the id of an admin's webhook, and another admin sees both under such ids.
    const others = many((await as('carol').call(list(taskId))).result);
    expect(others).toHaveLength(2);
    for (const { id } of others) {
      expect((await as('alice').call(get(taskId, id))).error).toMatchObject({ code: -32001 });
    }
    expect((await as('root').call(remove(taskId, hers.id))).error).toBeUndefined();
    expect(many((await as('alice').call(list(taskId))).result)).toEqual([]);
    expect(many((await as('root').call(list(taskId))).result)).toMatchObject([{ id: 'hers', url: hook('root') }]);
  });

  it('are all notified, and stay when the other user deletes its own', async () => {
    const taskId = await newTask();
    for (const user of ['alice', 'root'] as const) await as(user).call(set(taskId, { id: 'x', url: hook(user) }));
    await as('root').call(remove(taskId, 'x'));
    await as('root').call(set(taskId, { id: 'x', url: hook('root') }));
    await new V1Caller(server.url, tokens.alice).cancel(taskId);
    const { text } = await (async () => {
      const response = await fetch(`${server.url}/api/tasks/${taskId}/pushes`, {
        headers: { Authorization: `Bearer ${tokens.alice}` },
      });
      return { text: await response.text() };
    })();
    const { pushes } = JSON.parse(text) as { pushes: { subject: string; configId: string }[] };
    expect(pushes.map(({ subject, configId }) => `${subject} ${configId}`)).toEqual(['alice x', 'root x']);
  });
});
