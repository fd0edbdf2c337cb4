import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { http, type HttpResponse } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { TASK_OPERATIONS, type TaskOperation } from './task-operations.js';

const server = useServer();
let taskId: string;
let contextId: string;
let workerToken: string;
beforeAll(async () => {
  ({ id: taskId, contextId } = await server.caller.send('ask'));
  workerToken = await server.database.createKey({ subject: 'worker', role: 'worker', agents: ['demo'] });
});

const NATIVE: [verb: string, path: string][] = [
  ['GET', 'tasks/{id}'],
  ['GET', 'tasks/{id}/stream'],
  ['POST', 'tasks/{id}:resume'],
  ['GET', 'tasks/{id}/events'],
  ['GET', 'tasks/{id}/messages'],
  ['GET', 'tasks/{id}/deliveries'],
  ['GET', 'tasks/{id}/deliveries/x/parts'],
  ['GET', 'tasks/{id}/runs'],
  ['GET', 'tasks/{id}/pushes'],
];
const WRITE = { leaseGeneration: 1, dispatcherGeneration: 1 };
const RUN: [verb: string, body: object][] = [
  ['heartbeat', WRITE],
  ['publish', { ...WRITE, seq: 1, outputs: [] }],
  ['finish', { ...WRITE, seq: 1, outcome: { type: 'complete' } }],
];

const OPERATIONS: [name: string, operation: TaskOperation][] = [
  ...TASK_OPERATIONS,
  ...NATIVE.map(([verb, path]): [string, TaskOperation] => [
    `${verb} /api/${path}`,
    ({ url, token }, id) => http(verb, `${url}/api/${path.replace('{id}', id)}`, token),
  ]),
  ...RUN.map(([verb, body]): [string, TaskOperation] => [
    `POST /api/runs/{id}/${verb}`,
    ({ url }, id) => http('POST', `${url}/api/runs/${id}.1/${verb}`, workerToken, { body: JSON.stringify(body) }),
  ]),
];

/** Returns a response without the id and the headers that depend on its length or on the time. */
async function comparable(response: Promise<HttpResponse>, id: string) {
  const { status, headers, text } = await response;
  const kept = [...headers].filter(([name]) => name !== 'date' && name !== 'content-length');
  return { status, headers: kept, text: text.replaceAll(id, '<id>') };
}

describe('The id of a task in a different form than its canonical one', () => {
  it.each(OPERATIONS)('is missing, with the same response as for an unknown task, in %s', async (_name, operation) => {
    const caller = { url: server.url, token: TOKEN };
    const missing = randomUUID();
    const expected = await comparable(operation(caller, missing, contextId), missing);
    expect(expected.status).toBeLessThan(500);
    const compact = taskId.replaceAll('-', '');
    for (const id of [taskId.toUpperCase(), compact, `${taskId}0`, taskId.slice(1), 'no-such-task', 'null']) {
      expect(await comparable(operation(caller, id, contextId), id)).toEqual(expected);
    }
  });

  it('does not change the task', async () => {
    expect((await server.caller.get(taskId)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect((await server.caller.list()).totalSize).toBe(1);
  });
});
