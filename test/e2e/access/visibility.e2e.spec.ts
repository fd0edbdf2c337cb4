import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { call, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { maskedResponse, TASK_OPERATIONS } from './task-operations.js';

const server = useServer();
/** A task in ring:dev of tenant acme that requires input, and one that has ended. */
let waiting: string;
let ended: string;
let contextId: string;
const OTHER_CALLERS = [
  'a different owner',
  'the owner with a key for a different ring',
  'a different tenant',
  'an admin of a different tenant',
] as const;
const tokens = {} as Record<'the owner' | (typeof OTHER_CALLERS)[number], string>;

beforeAll(async () => {
  const alice = { tenant: 'acme', subject: 'alice' };
  tokens['the owner'] = await server.database.createKey({ ...alice, rings: ['ring:dev', 'ring:ops'] });
  tokens['a different owner'] = await server.database.createKey({
    ...alice,
    subject: 'bob',
    rings: ['ring:dev', 'ring:ops'],
  });
  tokens['the owner with a key for a different ring'] = await server.database.createKey({
    ...alice,
    rings: ['ring:ops'],
  });
  tokens['a different tenant'] = await server.database.createKey({
    tenant: 'umbrella',
    subject: 'alice',
    rings: ['ring:dev'],
  });
  tokens['an admin of a different tenant'] = await server.database.createKey({
    tenant: 'umbrella',
    subject: 'root',
    role: 'admin',
  });
  const owner = callerOf('the owner');
  ({ id: waiting, contextId } = await owner.send('ask'));
  ({ id: ended } = await owner.send('hello'));
});

const callerOf = (who: keyof typeof tokens): V1Caller => new V1Caller(server.url, tokens[who]);

describe('A task', () => {
  // F31
  describe.each(OTHER_CALLERS)('for %s', (who) => {
    // [A2A-AUTH-2]
    it.each(TASK_OPERATIONS)(
      'is indistinguishable, byte for byte, from a missing task in %s',
      async (_name, operation) => {
        const before = await server.database.rowCounts();
        for (const id of [waiting, ended]) {
          const missing = randomUUID();
          const caller = { url: server.url, token: tokens[who] };
          const response = await maskedResponse(operation(caller, id, contextId), id);
          expect(response.status).toBeLessThan(500);
          expect(response).toEqual(await maskedResponse(operation(caller, missing, contextId), missing));
        }
        expect(await server.database.rowCounts()).toEqual(before);
      },
    );

    // [A2A-LIST-6]
    it('appears in no list, and in no total', async () => {
      const page = await callerOf(who).list({ contextId });
      const missing = await callerOf(who).list({ contextId: randomUUID() });
      expect(page).toEqual(missing);
      expect((await callerOf(who).list()).tasks.map(({ id }) => id)).not.toContain(waiting);
    });
  });

  it('is not changed by the requests of other callers', async () => {
    expect((await callerOf('the owner').get(waiting)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect((await callerOf('the owner').list()).totalSize).toBe(2);
  });

  it('is accessible to an admin of its tenant', async () => {
    const key = await server.database.createKey({ tenant: 'acme', subject: 'root', role: 'admin' });
    const admin = new V1Caller(server.url, key);
    expect((await admin.get(waiting)).id).toBe(waiting);
    expect((await admin.list({ contextId })).tasks.map(({ id }) => id)).toContain(waiting);
  });

  it('is not accessible to the bootstrap admin if it is in a different tenant', async () => {
    expect((await call(server.url, TOKEN, '1.0', 'GetTask', { id: waiting })).body.error?.code).toBe(-32001);
  });

  // F3
  it.each(['a different owner', 'a different tenant'] as const)(
    'is separate if %s sends a message with the same messageId',
    async (who) => {
      const message = { messageId: randomUUID() };
      const own = await callerOf('the owner').send('mine', { message });
      const other = await callerOf(who).send('theirs', { message });
      expect(other.id).not.toBe(own.id);
      expect(other.contextId).not.toBe(own.contextId);
      expect(other.artifacts?.[0]?.parts).toEqual([{ text: 'THEIRS' }]);
    },
  );

  it('is in the first ring of the credential, or in the ring that its message names', async () => {
    const owner = callerOf('the owner');
    const byMetadata = await owner.send('one', { message: { metadata: { ring: 'ring:ops' } } });
    const byData = await owner.send('two', { message: { parts: [{ text: 'two' }, { data: { ring: 'ring:ops' } }] } });
    const byDefault = await owner.send('three');
    const visible = (await callerOf('the owner with a key for a different ring').list()).tasks.map(({ id }) => id);
    expect(visible).toEqual(expect.arrayContaining([byMetadata.id, byData.id]));
    expect(visible).not.toContain(byDefault.id);
  });

  it('is not created if its message names two rings', async () => {
    const message = { parts: [{ data: { ring: 'ring:dev' } }], metadata: { ring: 'ring:ops' } };
    const { body } = await callerOf('the owner').call('SendMessage', sendParams('', { message }));
    expect(body.error?.code).toBe(-32602);
  });
});

describe('A context', () => {
  it('is separate if a different owner uses the same contextId', async () => {
    const other = callerOf('a different owner');
    const task = await other.send('hello', { message: { contextId } });
    expect(task.contextId).toBe(contextId);
    expect((await other.list({ contextId })).tasks.map(({ id }) => id)).toEqual([task.id]);
  });

  it('is rejected in a message that names a different ring of its owner', async () => {
    const params = sendParams('hi', { message: { contextId, metadata: { ring: 'ring:ops' } } });
    const { body } = await callerOf('the owner').call('SendMessage', params);
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('contextId') });
  });
});

describe('An API key', () => {
  it('is rejected with 401 when it has expired', async () => {
    const expiresAt = new Date(Date.now() + 300);
    const key = await server.database.createKey({ subject: 'carol', expiresAt });
    await new Promise((resolve) => setTimeout(resolve, expiresAt.getTime() - Date.now() + 1));
    expect((await call(server.url, key, '1.0', 'ListTasks')).status).toBe(401);
  });
});
