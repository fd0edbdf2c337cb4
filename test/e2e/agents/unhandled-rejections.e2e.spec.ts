import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createDataDir } from '../../support/processes/acta-process.js';
import { http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const AGENT = `export default {
  name: 'careless', description: 'Forgets a promise', version: '1.0.0',
  skills: [{ id: 'x', name: 'X', description: 'X', tags: [] }],
  async run(ctx) {
    Promise.reject(new Error('nobody looks'));
    await ctx.artifact({ id: 'text', parts: [{ text: 'done' }] });
  },
};`;

let server: RunningServer;
let caller: V1Caller;
beforeAll(async () => {
  const file = join(await createDataDir(), 'careless.mjs');
  await writeFile(file, AGENT);
  server = await startServer({ env: { ACTA_AGENTS: `demo,${file}` } });
  caller = new V1Caller(server.url, TOKEN);
}, 60_000);
afterAll(() => server?.stop());

it('outlives a promise that an agent forgot, and loses no other run', async () => {
  const other = await caller.start('sleep 1s');
  const careless = new V1Caller(`${server.url}/agents/careless`, TOKEN);
  expect((await careless.send('go')).status.state).toBe('TASK_STATE_COMPLETED');
  expect((await careless.send('again')).status.state).toBe('TASK_STATE_COMPLETED');
  expect((await caller.get(other.id)).status.state).toMatch(/WORKING|COMPLETED/);
  expect(server.process.output).toContain('nobody looks');
});

it('shows executions that ended in a bare reply to the native API alone', async () => {
  const sent = await caller.call('SendMessage', sendParams('please reply'));
  const { message } = sent.body.result as { message: { contextId: string } };
  const found = JSON.parse((await http('GET', `${server.url}/api/tasks?status=replied`, TOKEN)).text) as {
    tasks: { contextId: string; status: string }[];
    totalSize: number;
  };
  expect(found).toMatchObject({ totalSize: 1, tasks: [{ contextId: message.contextId, status: 'replied' }] });
  expect((await caller.list({ contextId: message.contextId })).totalSize).toBe(0);
});

it('says that JSON-RPC takes POST alone', async () => {
  for (const verb of ['GET', 'PUT', 'DELETE']) {
    const answer = await http(verb, `${server.url}/a2a`, TOKEN);
    expect({ verb, status: answer.status, allow: answer.headers.get('allow') }).toEqual({
      verb,
      status: 405,
      allow: 'POST',
    });
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32601 } });
  }
});
