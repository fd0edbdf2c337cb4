import { randomUUID } from 'node:crypto';
import { type DemoStep, SLOW, step } from './demo-step.js';
import { expectLike } from './expect-like.js';

const say = (text: string, more: object = {}) => ({
  messageId: randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
  ...more,
});
const NOT_WAITING = { returnImmediately: true };

/** A2A 1.0 over JSON-RPC. */
export const A2A_STEPS: readonly DemoStep[] = [
  step('A2A 1.0: a send that waits gives the finished task', async (client, saw) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: say('hello') });
    saw(task.id);
    expectLike(task, {
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'HELLO' }] }],
      history: [{ role: 'ROLE_USER', parts: [{ text: 'hello' }] }],
    });
  }),
  step('A2A 1.0: the same message again gives the same task', async (client) => {
    const message = say('only once');
    const first = await client.rpc('1.0', 'SendMessage', { message });
    const again = await client.rpc('1.0', 'SendMessage', { message });
    expectLike(again.task, { id: first.task.id, artifacts: [{ parts: [{ text: 'ONLY ONCE' }] }] });
    const other = await client.rpc('1.0', 'SendMessage', { message: { ...message, parts: [{ text: 'otherwise' }] } });
    expectLike(other, { error: { code: -32602 } }, 'the answer to the same id with another text');
  }),
  step('A2A 1.0: a send that does not wait, then GetTask, ListTasks and CancelTask', async (client, saw) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: say(SLOW), configuration: NOT_WAITING });
    saw(task.id);
    expectLike(await client.rpc('1.0', 'GetTask', { id: task.id }), { id: task.id, contextId: task.contextId });
    const page = await client.rpc('1.0', 'ListTasks', { contextId: task.contextId });
    expectLike(page, { tasks: [{ id: task.id }], totalSize: 1, nextPageToken: '' });
    const canceled = await client.rpc('1.0', 'CancelTask', { id: task.id });
    expectLike(canceled, { id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
  }),
  step('A2A 1.0: the agent asks, and goes on with the answer', async (client, saw) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: say('ask') });
    saw(task.id);
    expectLike(task.status, { state: 'TASK_STATE_INPUT_REQUIRED', message: { role: 'ROLE_AGENT' } });
    const answer = say('this', { taskId: task.id, contextId: task.contextId });
    const answered = await client.rpc('1.0', 'SendMessage', { message: answer });
    expectLike(answered.task, {
      id: task.id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'THIS' }] }],
    });
  }),
  step('A2A 1.0: a stream shows the task, then what changes, and ends with it', async (client, saw) => {
    const updates = await client.stream('1.0', 'SendStreamingMessage', { message: say('sleep 50ms hello') });
    saw(updates[0].task.id);
    expectLike(updates.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
    const published = updates.filter(({ artifactUpdate }) => artifactUpdate !== undefined);
    expectLike(published, [{ artifactUpdate: { artifact: { parts: [{ text: 'SLEEP 50MS HELLO' }] } } }]);
  }),
  step('A2A 1.0: a bare reply is a message, and no task', async (client) => {
    const answer = await client.rpc('1.0', 'SendMessage', { message: say('reply please') });
    expectLike(answer, { task: undefined, message: { role: 'ROLE_AGENT', parts: [{ text: 'REPLY PLEASE' }] } });
  }),
  step('A2A 1.0: a task that fails says why', async (client, saw) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: say('fail') });
    saw(task.id);
    expectLike(task.status, { state: 'TASK_STATE_FAILED', message: { parts: [{ text: 'failed, as asked' }] } });
    const more = await client.rpc('1.0', 'SendMessage', { message: say('more', { taskId: task.id }) });
    expectLike(more, { error: { code: -32004 } }, 'the answer to a message for an ended task');
    expectLike(await client.rpc('1.0', 'CancelTask', { id: task.id }), { error: { code: -32002 } });
  }),
  step('A2A 1.0: errors are the standard ones', async (client) => {
    const unknown = await client.rpc('1.0', 'GetTask', { id: randomUUID() });
    expectLike(unknown, { error: { code: -32001, data: [{ reason: 'TASK_NOT_FOUND' }] } });
    expectLike(await client.rpc('1.0', 'tasks/get', { id: 'x' }), { error: { code: -32601 } });
    expectLike(await client.rpc('1.0', 'SendMessage', {}), { error: { code: -32602 } });
    const { body } = await client.http('POST', '/a2a', {
      headers: { 'A2A-Version': '9.9' },
      body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: {} },
    });
    expectLike(body, { error: { code: -32009 } });
  }),
];
