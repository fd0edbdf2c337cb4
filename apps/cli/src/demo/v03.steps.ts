import { randomUUID } from 'node:crypto';
import { type DemoStep, SLOW, step } from './demo-step.js';
import { expectMatch } from './expect-match.js';

const userMessage = (text: string) => ({
  kind: 'message',
  messageId: randomUUID(),
  role: 'user',
  parts: [{ kind: 'text', text }],
});

/** The steps of A2A 0.3 over JSON-RPC. */
export const V03_STEPS: readonly DemoStep[] = [
  step(
    'A2A 0.3: message/send returns the completed task, and tasks/get returns it again',
    async (client, showTimeline) => {
      const task = await client.rpc('0.3', 'message/send', { message: userMessage('hello') });
      showTimeline(task.id);
      const finished = {
        kind: 'task',
        id: task.id,
        status: { state: 'completed' },
        artifacts: [{ parts: [{ kind: 'text', text: 'HELLO' }] }],
      };
      expectMatch(task, finished);
      expectMatch(await client.rpc('0.3', 'tasks/get', { id: task.id }), finished);
    },
  ),
  step('A2A 0.3: tasks/cancel cancels a running task', async (client, showTimeline) => {
    const configuration = { blocking: false };
    const task = await client.rpc('0.3', 'message/send', { message: userMessage(SLOW), configuration });
    showTimeline(task.id);
    expectMatch(await client.rpc('0.3', 'tasks/cancel', { id: task.id }), { status: { state: 'canceled' } });
  }),
  step('A2A 0.3: message/stream marks its last update as final', async (client) => {
    const updates = await client.stream('0.3', 'message/stream', { message: userMessage('sleep 50ms hello') });
    expectMatch(updates[0], { kind: 'task' });
    expectMatch(updates.at(-1), { kind: 'status-update', status: { state: 'completed' }, final: true });
  }),
  step('A2A 0.3: tasks/get returns a task that was created over 1.0', async (client) => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'both' }] };
    const { task } = await client.rpc('1.0', 'SendMessage', { message });
    expectMatch(await client.rpc('0.3', 'tasks/get', { id: task.id }), { id: task.id, status: { state: 'completed' } });
  }),
  step('A2A 0.3: an unknown task and an unknown method return errors', async (client) => {
    expectMatch(await client.rpc('0.3', 'tasks/get', { id: randomUUID() }), { error: { code: -32001 } });
    expectMatch(await client.rpc('0.3', 'GetTask', { id: 'x' }), { error: { code: -32601 } });
  }),
];
