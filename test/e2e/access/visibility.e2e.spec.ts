import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { ASKED_OF_A_TASK, masked } from './task-operations.js';

let server: RunningServer;
let database: DatabaseView;
/** A task that its owner left waiting for input in ring:dev of tenant acme, and one that has ended. */
let waiting: string;
let ended: string;
let contextId: string;
const tokens = { owner: '', 'another owner': '', 'another ring': '', 'another tenant': '', 'an admin elsewhere': '' };
type Who = keyof typeof tokens;
const STRANGERS: Who[] = ['another owner', 'another ring', 'another tenant', 'an admin elsewhere'];

beforeAll(async () => {
  server = await startServer();
  database = new DatabaseView(server.databaseUrl!);
  const alice = { tenant: 'acme', subject: 'alice' };
  tokens.owner = await database.createKey({ ...alice, rings: ['ring:dev', 'ring:ops'] });
  tokens['another owner'] = await database.createKey({ ...alice, subject: 'bob', rings: ['ring:dev', 'ring:ops'] });
  // The owner itself, with a credential that does not see the ring.
  tokens['another ring'] = await database.createKey({ ...alice, rings: ['ring:ops'] });
  tokens['another tenant'] = await database.createKey({ tenant: 'umbrella', subject: 'alice', rings: ['ring:dev'] });
  tokens['an admin elsewhere'] = await database.createKey({ tenant: 'umbrella', subject: 'root', role: 'admin' });
  const owner = new V1Caller(server.url, tokens.owner);
  ({ id: waiting, contextId } = await owner.send('ask'));
  ({ id: ended } = await owner.send('hello'));
}, 90_000);
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

// F31
describe.each(STRANGERS)('to %s', (who) => {
  // [A2A-AUTH-2]
  it.each(ASKED_OF_A_TASK)(
    '%s of the task is the same, byte for byte, as of one that never existed',
    async (_name, ask) => {
      const before = await database.rowCounts();
      for (const id of [waiting, ended]) {
        const missing = randomUUID();
        const asker = { url: server.url, token: tokens[who] };
        const answer = await masked(ask(asker, id, contextId), id);
        expect(answer.status).toBeLessThan(500);
        expect(answer).toEqual(await masked(ask(asker, missing, contextId), missing));
      }
      expect(await database.rowCounts()).toEqual(before);
    },
  );

  // [A2A-LIST-6]
  it('no list shows it, and none counts it', async () => {
    const stranger = new V1Caller(server.url, tokens[who]);
    const page = await stranger.list({ contextId });
    const missing = await stranger.list({ contextId: randomUUID() });
    expect(page).toEqual(missing);
    expect((await stranger.list()).tasks.map(({ id }) => id)).not.toContain(waiting);
  });
});

it('leaves the task to its owner as it was', async () => {
  const owner = new V1Caller(server.url, tokens.owner);
  expect((await owner.get(waiting)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  expect((await owner.list()).totalSize).toBe(2);
});

// F3
it.each(['another owner', 'another tenant'] as const)(
  'gives %s, who uses the same messageId, a task of its own',
  async (who) => {
    const message = { messageId: randomUUID() };
    const mine = await new V1Caller(server.url, tokens.owner).send('mine', { message });
    const theirs = await new V1Caller(server.url, tokens[who]).send('theirs', { message });
    expect(theirs.id).not.toBe(mine.id);
    expect(theirs.contextId).not.toBe(mine.contextId);
    expect(theirs.artifacts?.[0]?.parts).toEqual([{ text: 'THEIRS' }]);
  },
);

it("makes another owner's context a new one of the caller's own", async () => {
  const bob = new V1Caller(server.url, tokens['another owner']);
  const task = await bob.send('hello', { message: { contextId } });
  expect(task.contextId).toBe(contextId);
  expect((await bob.list({ contextId })).tasks.map(({ id }) => id)).toEqual([task.id]);
});

it('refuses a context of the caller that belongs to another of its rings', async () => {
  const params = sendParams('hi', { message: { contextId, metadata: { ring: 'ring:ops' } } });
  const { body } = await call(server.url, tokens.owner, '1.0', 'SendMessage', params);
  expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('contextId') });
});

it('puts a new task into the first ring of the credential, or the one that the message names', async () => {
  const owner = new V1Caller(server.url, tokens.owner);
  const opsOnly = new V1Caller(server.url, tokens['another ring']);
  const byMetadata = await owner.send('one', { message: { metadata: { ring: 'ring:ops' } } });
  const byData = await owner.send('two', { message: { parts: [{ text: 'two' }, { data: { ring: 'ring:ops' } }] } });
  const byOrder = await owner.send('three');
  const seen = (await opsOnly.list()).tasks.map(({ id }) => id);
  expect(seen).toEqual(expect.arrayContaining([byMetadata.id, byData.id]));
  expect(seen).not.toContain(byOrder.id);
  const torn = { parts: [{ data: { ring: 'ring:dev' } }], metadata: { ring: 'ring:ops' } };
  const { body } = await call(server.url, tokens.owner, '1.0', 'SendMessage', sendParams('', { message: torn }));
  expect(body.error?.code).toBe(-32602);
});

it('lets an admin reach every task of its tenant', async () => {
  const admin = new V1Caller(server.url, await database.createKey({ tenant: 'acme', subject: 'root', role: 'admin' }));
  expect((await admin.get(waiting)).id).toBe(waiting);
  expect((await admin.list({ contextId })).tasks.map(({ id }) => id)).toContain(waiting);
});

it('refuses a revoked or expired key, and the bootstrap admin is of another tenant', async () => {
  const expiresAt = new Date(Date.now() + 300);
  const short = await database.createKey({ subject: 'carol', expiresAt });
  await new Promise((resolve) => setTimeout(resolve, expiresAt.getTime() - Date.now() + 1));
  expect((await call(server.url, short, '1.0', 'ListTasks')).status).toBe(401);
  expect((await call(server.url, TOKEN, '1.0', 'GetTask', { id: waiting })).body.error?.code).toBe(-32001);
});
