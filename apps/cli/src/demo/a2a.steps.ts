import { randomUUID } from 'node:crypto';
import { type DemoStep, SLOW, step } from './demo-step.js';
import { expectMatch } from './expect-match.js';

const userMessage = (text: string, fields: object = {}) => ({
  messageId: randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
  ...fields,
});
const NON_BLOCKING = { returnImmediately: true };

/** The steps of A2A 1.0 over JSON-RPC. */
export const A2A_STEPS: readonly DemoStep[] = [
  step('A2A 1.0: a blocking send returns the completed task', async (client, showTimeline) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: userMessage('hello') });
    showTimeline(task.id);
    expectMatch(task, {
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'HELLO' }] }],
      history: [{ role: 'ROLE_USER', parts: [{ text: 'hello' }] }],
    });
  }),
  step('A2A 1.0: a repeated message returns the same task', async (client) => {
    const message = userMessage('only once');
    const first = await client.rpc('1.0', 'SendMessage', { message });
    const again = await client.rpc('1.0', 'SendMessage', { message });
    expectMatch(again.task, { id: first.task.id, artifacts: [{ parts: [{ text: 'ONLY ONCE' }] }] });
    const other = await client.rpc('1.0', 'SendMessage', {
      message: { ...message, parts: [{ text: 'a different text' }] },
    });
    expectMatch(other, { error: { code: -32602 } }, 'the response to the same message id with a different text');
  }),
  step('A2A 1.0: a non-blocking send, then GetTask, ListTasks and CancelTask', async (client, showTimeline) => {
    const { task } = await client.rpc('1.0', 'SendMessage', {
      message: userMessage(SLOW),
      configuration: NON_BLOCKING,
    });
    showTimeline(task.id);
    expectMatch(await client.rpc('1.0', 'GetTask', { id: task.id }), { id: task.id, contextId: task.contextId });
    const page = await client.rpc('1.0', 'ListTasks', { contextId: task.contextId });
    expectMatch(page, { tasks: [{ id: task.id }], totalSize: 1, nextPageToken: '' });
    const canceled = await client.rpc('1.0', 'CancelTask', { id: task.id });
    expectMatch(canceled, { id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
  }),
  step('A2A 1.0: a task requires input and continues with the next message', async (client, showTimeline) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: userMessage('ask') });
    showTimeline(task.id);
    expectMatch(task.status, { state: 'TASK_STATE_INPUT_REQUIRED', message: { role: 'ROLE_AGENT' } });
    const message = userMessage('this', { taskId: task.id, contextId: task.contextId });
    const continued = await client.rpc('1.0', 'SendMessage', { message });
    expectMatch(continued.task, {
      id: task.id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'THIS' }] }],
    });
  }),
  step(
    'A2A 1.0: a stream sends the task, then its updates, and closes when the task ends',
    async (client, showTimeline) => {
      const updates = await client.stream('1.0', 'SendStreamingMessage', { message: userMessage('sleep 50ms hello') });
      showTimeline(updates[0].task.id);
      expectMatch(updates.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
      const published = updates.filter(({ artifactUpdate }) => artifactUpdate !== undefined);
      expectMatch(published, [{ artifactUpdate: { artifact: { parts: [{ text: 'SLEEP 50MS HELLO' }] } } }]);
    },
  ),
  step('A2A 1.0: a direct message response contains no task', async (client) => {
    const response = await client.rpc('1.0', 'SendMessage', { message: userMessage('reply please') });
    expectMatch(response, { task: undefined, message: { role: 'ROLE_AGENT', parts: [{ text: 'REPLY PLEASE' }] } });
  }),
  step('A2A 1.0: a failed task has a status message', async (client, showTimeline) => {
    const { task } = await client.rpc('1.0', 'SendMessage', { message: userMessage('fail') });
    showTimeline(task.id);
    expectMatch(task.status, {
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'The text contains `fail`.' }] },
    });
    const more = await client.rpc('1.0', 'SendMessage', { message: userMessage('more', { taskId: task.id }) });
    expectMatch(more, { error: { code: -32004 } }, 'the response to a message for an ended task');
    expectMatch(await client.rpc('1.0', 'CancelTask', { id: task.id }), { error: { code: -32002 } });
  }),
  step('A2A 1.0: errors have the standard codes', async (client) => {
    const unknown = await client.rpc('1.0', 'GetTask', { id: randomUUID() });
    expectMatch(unknown, { error: { code: -32001, data: [{ reason: 'TASK_NOT_FOUND' }] } });
    expectMatch(await client.rpc('1.0', 'tasks/get', { id: 'x' }), { error: { code: -32601 } });
    expectMatch(await client.rpc('1.0', 'SendMessage', {}), { error: { code: -32602 } });
    const { body } = await client.http('POST', '/a2a', {
      headers: { 'A2A-Version': '9.9' },
      body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: {} },
    });
    expectMatch(body, { error: { code: -32009 } });
  }),
];
