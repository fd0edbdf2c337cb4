import type { JsonObject } from '@app/domain';
import { http, type HttpResponse, httpSendParamsV03, sendParams, sendParamsV03 } from '../../support/clients/rpc.js';

/** A caller of a server, or of the path of one of its agents. */
export interface Caller {
  readonly url: string;
  readonly token: string;
}

/** Sends one request about the task `id`, with `contextId` as its context where the request has one. */
export type TaskOperation = (caller: Caller, id: string, contextId: string) => Promise<HttpResponse>;
type Version = '1.0' | '0.3';

const HOOK = { id: 'x', url: 'https://example.com/hook' };

const sendV1 = (message: JsonObject) => sendParams('hi', { message });
const sendV03 = (message: JsonObject) => sendParamsV03('hi', { message });

const JSON_RPC: [Version, string, (id: string, contextId: string) => JsonObject, field?: string][] = [
  ['1.0', 'GetTask', (id) => ({ id })],
  ['1.0', 'CancelTask', (id) => ({ id })],
  ['1.0', 'SubscribeToTask', (id) => ({ id })],
  ['1.0', 'SendMessage', (taskId) => sendV1({ taskId }), 'taskId'],
  ['1.0', 'SendMessage', (taskId, contextId) => sendV1({ taskId, contextId }), 'taskId and contextId'],
  ['1.0', 'SendMessage', (id) => sendV1({ referenceTaskIds: [id] }), 'referenceTaskIds'],
  ['1.0', 'SendStreamingMessage', (taskId) => sendV1({ taskId })],
  ['1.0', 'CreateTaskPushNotificationConfig', (taskId) => ({ taskId, ...HOOK })],
  ['1.0', 'GetTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'x' })],
  ['1.0', 'ListTaskPushNotificationConfigs', (taskId) => ({ taskId })],
  ['1.0', 'DeleteTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'x' })],
  ['0.3', 'tasks/get', (id) => ({ id })],
  ['0.3', 'tasks/cancel', (id) => ({ id })],
  ['0.3', 'tasks/resubscribe', (id) => ({ id })],
  ['0.3', 'message/send', (taskId) => sendV03({ taskId }), 'taskId'],
  ['0.3', 'message/send', (id) => sendV03({ referenceTaskIds: [id] }), 'referenceTaskIds'],
  ['0.3', 'message/stream', (taskId) => sendV03({ taskId })],
  ['0.3', 'tasks/pushNotificationConfig/set', (taskId) => ({ taskId, pushNotificationConfig: HOOK })],
  ['0.3', 'tasks/pushNotificationConfig/get', (id) => ({ id, pushNotificationConfigId: 'x' })],
  ['0.3', 'tasks/pushNotificationConfig/list', (id) => ({ id })],
  ['0.3', 'tasks/pushNotificationConfig/delete', (id) => ({ id, pushNotificationConfigId: 'x' })],
];

const httpSend = (version: Version, taskId: string): JsonObject =>
  (version === '1.0' ? sendParams : httpSendParamsV03)('hi', { message: { taskId } });

const HTTP_JSON: [string, string, ((version: Version, id: string) => JsonObject)?][] = [
  ['GET', 'tasks/{id}'],
  ['POST', 'tasks/{id}:cancel'],
  ['GET', 'tasks/{id}:subscribe'],
  ['POST', 'tasks/{id}:subscribe'],
  ['GET', 'tasks/{id}/pushNotificationConfigs'],
  [
    'POST',
    'tasks/{id}/pushNotificationConfigs',
    (version) => (version === '1.0' ? HOOK : { pushNotificationConfig: HOOK }),
  ],
  ['GET', 'tasks/{id}/pushNotificationConfigs/x'],
  ['DELETE', 'tasks/{id}/pushNotificationConfigs/x'],
  ['POST', 'message:send', httpSend],
  ['POST', 'message:stream', httpSend],
];

/** The routes of the simple and the native REST that access one task. */
const REST: [string, string][] = [
  ['GET', '/a2a/tasks/{id}'],
  ['GET', '/a2a/tasks/{id}/stream'],
  ['DELETE', '/a2a/tasks/{id}'],
  ['GET', '/api/tasks/{id}'],
  ['POST', '/api/tasks/{id}:resume'],
  ['GET', '/api/tasks/{id}/stream'],
  ['GET', '/api/tasks/{id}/events'],
  ['GET', '/api/tasks/{id}/messages'],
  ['GET', '/api/tasks/{id}/runs'],
  ['GET', '/api/tasks/{id}/deliveries'],
  ['GET', '/api/tasks/{id}/deliveries/text/parts'],
  ['GET', '/api/tasks/{id}/pushes'],
];

/** The names of the operations below, in the form of `registeredOperations`. */
export const COVERED_OPERATIONS: readonly string[] = [
  ...new Set([
    ...JSON_RPC.map(([version, method]) => `${version} ${method}`),
    ...HTTP_JSON.flatMap(([verb, path]) => ['1.0', '0.3'].map((version) => `${version} ${verb} ${withoutNames(path)}`)),
    ...REST.map(([verb, path]) => `${verb} ${withoutNames(path)}`),
  ]),
];

/** Replaces the ids of a path and their names in a template, so that both can be compared. */
export function withoutNames(path: string): string {
  return path
    .replace(/\/:\w+(?:\([^)]*\))?/g, '/{}')
    .replace(/\{\w+\}|(?<=\/pushNotificationConfigs\/)x$|(?<=\/deliveries\/)text/g, '{}')
    .replace('::', ':');
}

/** Every operation on one task that a client can request. */
export const TASK_OPERATIONS: readonly [name: string, operation: TaskOperation][] = [
  ...JSON_RPC.map(([version, method, params, field]): [string, TaskOperation] => [
    field === undefined ? method : `${method} with ${field}`,
    ({ url, token }, id, contextId) =>
      http('POST', `${url}/a2a`, token, {
        headers: { 'A2A-Version': version },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params(id, contextId) }),
      }),
  ]),
  ...(['1.0', '0.3'] as const).flatMap((version) =>
    HTTP_JSON.map(([verb, path, body]): [string, TaskOperation] => [
      `${verb} /a2a/v1/${path} of A2A ${version}`,
      ({ url, token }, id) =>
        http(verb, `${url}/a2a/v1/${path.replace('{id}', id)}`, token, {
          headers: { 'A2A-Version': version },
          ...(body === undefined ? {} : { body: JSON.stringify(body(version, id)) }),
        }),
    ]),
  ),
  ...REST.map(([verb, path]): [string, TaskOperation] => [
    `${verb} ${path}`,
    ({ url, token }, id) => http(verb, url + path.replace('{id}', id), token),
  ]),
];

/** The operations that also exist below the path of an agent. */
export const SCOPED_TASK_OPERATIONS = TASK_OPERATIONS.filter(([name]) => !name.includes(' /api/'));

/** Returns a response without the id of its task and without the date, so that two responses can be compared. */
export async function maskedResponse(response: Promise<HttpResponse>, id: string) {
  const { status, headers, text } = await response;
  const kept = [...headers].filter(([name]) => name !== 'date');
  return { status, headers: kept, text: text.replaceAll(id, '<id>') };
}
