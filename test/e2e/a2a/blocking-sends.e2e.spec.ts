import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { DatabaseView } from '../../support/database/database-view.js';
import { eventually, http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
let database: DatabaseView;
let admin: V1Caller;

beforeAll(async () => {
  server = await startServer();
  database = new DatabaseView(server.databaseUrl!);
  admin = new V1Caller(server.url, TOKEN);
}, 90_000);
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

type Version = '1.0' | '0.3';

const said = (contextId: string, text: string) => ({ messageId: randomUUID(), contextId, parts: [{ text }] });
const rpc = (method: string, params: JsonObject): JsonObject => ({ jsonrpc: '2.0', id: 1, method, params });
const SENDS: [string, Version, string, (contextId: string, text: string) => JsonObject][] = [
  [
    'JSON-RPC of 1.0',
    '1.0',
    'a2a',
    (contextId, text) => rpc('SendMessage', sendParams(text, { message: { contextId } })),
  ],
  [
    'JSON-RPC of 0.3',
    '0.3',
    'a2a',
    (contextId, text) =>
      rpc('message/send', {
        message: { ...said(contextId, text), kind: 'message', role: 'user', parts: [{ kind: 'text', text }] },
      }),
  ],
  ['HTTP+JSON of 1.0', '1.0', 'a2a/v1/message:send', (contextId, text) => sendParams(text, { message: { contextId } })],
  [
    'HTTP+JSON of 0.3',
    '0.3',
    'a2a/v1/message:send',
    (contextId, text) => {
      const { parts, ...message } = said(contextId, text);
      return { message: { ...message, role: 'ROLE_USER', content: parts }, configuration: { blocking: true } };
    },
  ],
];

/** Sends and waits with a key of its own; comes back once the work has begun. */
async function waiting(text: string, [, version, path, body]: (typeof SENDS)[number], lifetimeMs?: number) {
  const contextId = randomUUID();
  const expiresAt = lifetimeMs === undefined ? {} : { expiresAt: new Date(Date.now() + lifetimeMs) };
  const token = await database.createKey({ subject: randomUUID(), ...expiresAt });
  const answer = http('POST', `${server.url}/${path}`, token, {
    headers: { 'A2A-Version': version },
    body: JSON.stringify(body(contextId, text)),
  });
  const {
    tasks: [task],
  } = await eventually(
    () => admin.list({ contextId, status: 'TASK_STATE_WORKING' }),
    ({ totalSize }) => totalSize === 1,
  );
  return { token, answer, taskId: task!.id };
}

describe('a send that waits', () => {
  it.each(SENDS)('on %s is not told what comes after its key was revoked', async (...send) => {
    const { token, answer } = await waiting('sleep 3s', send);
    await database.revokeKey(token);
    const { status, headers, text } = await answer;
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(text).toContain('revoked');
    expect(text).not.toContain('SLEEP');
  });

  it.each([
    ['is revoked', undefined],
    ['has expired', 2_000],
  ])('is let go while the work goes on when its key %s', async (_how, lifetimeMs) => {
    const { token, answer, taskId } = await waiting('sleep 60s', SENDS[0]!, lifetimeMs);
    if (lifetimeMs === undefined) await database.revokeKey(token);
    expect((await answer).status).toBe(401);
    expect((await admin.get(taskId)).status.state).toBe('TASK_STATE_WORKING');
    await admin.cancel(taskId);
  });
});
