import { randomUUID } from 'node:crypto';
import { type DemoStep, SLOW, step } from './demo-step.js';
import { expectLike } from './expect-like.js';

const say = (text: string) => ({
  kind: 'message',
  messageId: randomUUID(),
  role: 'user',
  parts: [{ kind: 'text', text }],
});

/** A2A 0.3 over JSON-RPC. */
export const V03_STEPS: readonly DemoStep[] = [
  step('A2A 0.3: message/send gives the finished task, tasks/get shows it again', async (client, saw) => {
    const task = await client.rpc('0.3', 'message/send', { message: say('hello') });
    saw(task.id);
    const finished = {
      kind: 'task',
      id: task.id,
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'HELLO' }] }],
    };
    expectLike(task, finished);
    expectLike(await client.rpc('0.3', 'tasks/get', { id: task.id }), finished);
  }),
  step('A2A 0.3: tasks/cancel ends a task at work', async (client, saw) => {
    const configuration = { blocking: false };
    const task = await client.rpc('0.3', 'message/send', { message: say(SLOW), configuration });
    saw(task.id);
    expectLike(await client.rpc('0.3', 'tasks/cancel', { id: task.id }), { status: { state: 'canceled' } });
  }),
  step('A2A 0.3: message/stream marks its last update as final', async (client) => {
    const updates = await client.stream('0.3', 'message/stream', { message: say('sleep 50ms hello') });
    expectLike(updates[0], { kind: 'task' });
    expectLike(updates.at(-1), { kind: 'status-update', status: { state: 'completed' }, final: true });
  }),
  step('A2A 0.3: a task that 1.0 made is the same task', async (client) => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'both' }] };
    const { task } = await client.rpc('1.0', 'SendMessage', { message });
    expectLike(await client.rpc('0.3', 'tasks/get', { id: task.id }), { id: task.id, status: { state: 'completed' } });
  }),
  step('A2A 0.3: an unknown task is not found', async (client) => {
    expectLike(await client.rpc('0.3', 'tasks/get', { id: randomUUID() }), { error: { code: -32001 } });
    expectLike(await client.rpc('0.3', 'GetTask', { id: 'x' }), { error: { code: -32601 } });
  }),
];
