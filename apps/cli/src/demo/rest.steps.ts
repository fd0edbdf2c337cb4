import { randomUUID } from 'node:crypto';
import { type DemoStep, SLOW, step } from './demo-step.js';
import { expectMatch } from './expect-match.js';

/** The steps of the simple REST API. */
export const REST_STEPS: readonly DemoStep[] = [
  step('REST: the agent description has its name and capabilities', async (client) => {
    expectMatch((await client.http('GET', '/a2a/agent')).body, { name: 'demo', capabilities: ['upper-case'] });
  }),
  step('REST: a task is created, streamed to its end, and read', async (client, showTimeline) => {
    const { status, body } = await client.http('POST', '/a2a/tasks', { body: { input: 'sleep 50ms hello' } });
    showTimeline(body.id);
    expectMatch(status, 201);
    expectMatch(body, { status: /^(pending|running)$/, input: 'sleep 50ms hello', created_at: /Z$/ });
    const snapshots = await client.events(`/a2a/tasks/${body.id}/stream`);
    expectMatch(snapshots.at(-1), { id: body.id, status: 'completed', output: 'SLEEP 50MS HELLO' });
    const again = await client.http('GET', `/a2a/tasks/${body.id}`);
    expectMatch(again, { status: 200, body: { status: 'completed', output: 'SLEEP 50MS HELLO' } });
  }),
  step('REST: two requests with the same Idempotency-Key create one task', async (client) => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await client.http('POST', '/a2a/tasks', { headers, body: { input: 'once' } });
    const again = await client.http('POST', '/a2a/tasks', { headers, body: { input: 'once' } });
    expectMatch(again.body, { id: first.body.id });
  }),
  step('REST: DELETE cancels a task and returns it', async (client, showTimeline) => {
    const { body } = await client.http('POST', '/a2a/tasks', { body: { input: SLOW } });
    showTimeline(body.id);
    const canceled = await client.http('DELETE', `/a2a/tasks/${body.id}`);
    expectMatch(canceled, { status: 200, body: { id: body.id, status: 'cancelled' } });
  }),
  step('REST: a missing task returns 404, and invalid input returns 400', async (client) => {
    const missing = await client.http('GET', `/a2a/tasks/${randomUUID()}`);
    expectMatch(missing, { status: 404, body: { error: 'task not found' } });
    expectMatch((await client.http('POST', '/a2a/tasks', { body: {} })).status, 400);
  }),
];
