import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { eventually, http, httpSendParamsV03, sendParams, sendParamsV03 } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';

const server = useServer();

interface Send {
  readonly binding: string;
  readonly version: '1.0' | '0.3';
  readonly path: string;
  readonly body: (text: string, message: JsonObject) => JsonObject;
}

const rpc = (method: string, params: JsonObject): JsonObject => ({ jsonrpc: '2.0', id: 1, method, params });
const JSON_RPC: Send = {
  binding: 'JSON-RPC',
  version: '1.0',
  path: 'a2a',
  body: (text, message) => rpc('SendMessage', sendParams(text, { message })),
};
const SENDS: Send[] = [
  JSON_RPC,
  {
    binding: 'JSON-RPC',
    version: '0.3',
    path: 'a2a',
    body: (text, message) => rpc('message/send', sendParamsV03(text, { message })),
  },
  {
    binding: 'HTTP+JSON',
    version: '1.0',
    path: 'a2a/v1/message:send',
    body: (text, message) => sendParams(text, { message }),
  },
  {
    binding: 'HTTP+JSON',
    version: '0.3',
    path: 'a2a/v1/message:send',
    body: (text, message) => httpSendParamsV03(text, { message, configuration: { blocking: true } }),
  },
];

/** Starts a blocking send with a new key, and returns when the task is working. */
async function startBlockingSend(text: string, { version, path, body }: Send, lifetimeMs?: number) {
  const contextId = randomUUID();
  const expiresAt = lifetimeMs === undefined ? {} : { expiresAt: new Date(Date.now() + lifetimeMs) };
  const token = await server.database.createKey({ subject: randomUUID(), ...expiresAt });
  const response = http('POST', `${server.url}/${path}`, token, {
    headers: { 'A2A-Version': version },
    body: JSON.stringify(body(text, { contextId })),
  });
  const {
    tasks: [task],
  } = await eventually(
    () => server.caller.list({ contextId, status: 'TASK_STATE_WORKING' }),
    ({ totalSize }) => totalSize === 1,
  );
  return { token, response, taskId: task!.id };
}

describe('A blocking send', () => {
  it.each(SENDS)(
    'of A2A $version over $binding returns 401 without the outcome after its key is revoked',
    async (send) => {
      const { token, response } = await startBlockingSend('sleep 3s', send);
      await server.database.revokeKey(token);
      const { status, headers, text } = await response;
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(text).toContain('revoked');
      expect(text).not.toContain('SLEEP');
    },
  );

  it.each([
    ['is revoked', undefined],
    ['expires', 2_000],
  ])('returns 401 before the outcome when its key %s, and the task continues', async (_how, lifetimeMs) => {
    const { token, response, taskId } = await startBlockingSend('sleep 60s', JSON_RPC, lifetimeMs);
    if (lifetimeMs === undefined) await server.database.revokeKey(token);
    expect((await response).status).toBe(401);
    expect((await server.caller.get(taskId)).status.state).toBe('TASK_STATE_WORKING');
    await server.caller.cancel(taskId);
  });
});
