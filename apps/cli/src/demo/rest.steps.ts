import { randomUUID } from 'node:crypto';
import { type DemoStep, SLOW, step } from './demo-step.js';
import { expectLike } from './expect-like.js';

/** The simple REST. */
export const REST_STEPS: readonly DemoStep[] = [
  step('REST: the agent says what it is', async (client) => {
    expectLike((await client.http('GET', '/a2a/agent')).body, { name: 'demo', capabilities: ['upper-case'] });
  }),
  step('REST: a task is made, followed to its end, and read', async (client, saw) => {
    const { status, body } = await client.http('POST', '/a2a/tasks', { body: { input: 'sleep 50ms hello' } });
    saw(body.id);
    expectLike(status, 201);
    expectLike(body, { status: /^(pending|running)$/, input: 'sleep 50ms hello', created_at: /Z$/ });
    const snapshots = await client.events(`/a2a/tasks/${body.id}/stream`);
    expectLike(snapshots.at(-1), { id: body.id, status: 'completed', output: 'SLEEP 50MS HELLO' });
    const again = await client.http('GET', `/a2a/tasks/${body.id}`);
    expectLike(again, { status: 200, body: { status: 'completed', output: 'SLEEP 50MS HELLO' } });
  }),
  step('REST: the same Idempotency-Key makes one task', async (client) => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await client.http('POST', '/a2a/tasks', { headers, body: { input: 'once' } });
    const again = await client.http('POST', '/a2a/tasks', { headers, body: { input: 'once' } });
    expectLike(again.body, { id: first.body.id });
  }),
  step('REST: DELETE cancels, and gives the task', async (client, saw) => {
    const { body } = await client.http('POST', '/a2a/tasks', { body: { input: SLOW } });
    saw(body.id);
    const canceled = await client.http('DELETE', `/a2a/tasks/${body.id}`);
    expectLike(canceled, { status: 200, body: { id: body.id, status: 'cancelled' } });
  }),
  step('REST: a missing task is 404, wrong input is 400', async (client) => {
    const missing = await client.http('GET', `/a2a/tasks/${randomUUID()}`);
    expectLike(missing, { status: 404, body: { error: 'task not found' } });
    expectLike((await client.http('POST', '/a2a/tasks', { body: {} })).status, 400);
  }),
];
