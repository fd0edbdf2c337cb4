import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@app/domain';
import { call, http, type HttpResponse } from '../../support/clients/rpc.js';

/** Who asks about a task, and where: `url` is the server's, or that of one of its agents. */
export interface Asker {
  readonly url: string;
  readonly token: string;
}

/** Asks about the task `id`, which is said to be in `contextId`. */
export type Ask = (asker: Asker, id: string, contextId: string) => Promise<HttpResponse>;
type Version = '1.0' | '0.3';

const HOOK = { id: 'x', url: 'https://example.com/hook' };

function said(version: Version, more: JsonObject): JsonObject {
  const ids = { messageId: randomUUID(), ...more };
  return version === '1.0'
    ? { message: { ...ids, role: 'ROLE_USER', parts: [{ text: 'hi' }] } }
    : { message: { ...ids, role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'hi' }] } };
}

const JSON_RPC: [Version, string, (id: string, contextId: string) => JsonObject][] = [
  ['1.0', 'GetTask', (id) => ({ id })],
  ['1.0', 'CancelTask', (id) => ({ id })],
  ['1.0', 'SubscribeToTask', (id) => ({ id })],
  ['1.0', 'SendMessage', (taskId) => said('1.0', { taskId })],
  ['1.0', 'SendMessage', (taskId, contextId) => said('1.0', { taskId, contextId })],
  ['1.0', 'SendMessage', (id) => said('1.0', { referenceTaskIds: [id] })],
  ['1.0', 'SendStreamingMessage', (taskId) => said('1.0', { taskId })],
  ['1.0', 'CreateTaskPushNotificationConfig', (taskId) => ({ taskId, ...HOOK })],
  ['1.0', 'GetTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'x' })],
  ['1.0', 'ListTaskPushNotificationConfigs', (taskId) => ({ taskId })],
  ['1.0', 'DeleteTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'x' })],
  ['0.3', 'tasks/get', (id) => ({ id })],
  ['0.3', 'tasks/cancel', (id) => ({ id })],
  ['0.3', 'tasks/resubscribe', (id) => ({ id })],
  ['0.3', 'message/send', (taskId) => said('0.3', { taskId })],
  ['0.3', 'message/send', (id) => said('0.3', { referenceTaskIds: [id] })],
  ['0.3', 'message/stream', (taskId) => said('0.3', { taskId })],
  ['0.3', 'tasks/pushNotificationConfig/set', (taskId) => ({ taskId, pushNotificationConfig: HOOK })],
  ['0.3', 'tasks/pushNotificationConfig/get', (id) => ({ id, pushNotificationConfigId: 'x' })],
  ['0.3', 'tasks/pushNotificationConfig/list', (id) => ({ id })],
  ['0.3', 'tasks/pushNotificationConfig/delete', (id) => ({ id, pushNotificationConfigId: 'x' })],
];

/** The HTTP+JSON binding writes v0.3 as ProtoJSON, whose messages have a `content`. */
function posted(version: Version, taskId: string): JsonObject {
  const { parts, ...message } = said('1.0', { taskId })['message'] as JsonObject;
  return { message: { ...message, [version === '1.0' ? 'parts' : 'content']: parts! } };
}

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
  ['POST', 'message:send', posted],
  ['POST', 'message:stream', posted],
];

const REST: [string, string][] = [
  ['GET', 'tasks/{id}'],
  ['GET', 'tasks/{id}/stream'],
  ['DELETE', 'tasks/{id}'],
];

/** Everything that a client of A2A or of the simple REST can ask about one task. */
export const ASKED_OF_A_TASK: [name: string, ask: Ask][] = [
  ...JSON_RPC.map(([version, method, params]): [string, Ask] => [
    `${method} with ${Object.keys((params('', '')['message'] as JsonObject | undefined) ?? params('', '')).join(', ')}`,
    ({ url, token }, id, contextId) => call(url, token, version, method, params(id, contextId)),
  ]),
  ...(['1.0', '0.3'] as const).flatMap((version) =>
    HTTP_JSON.map(([verb, path, body]): [string, Ask] => [
      `${verb} ${path} in ${version}`,
      ({ url, token }, id) =>
        http(verb, `${url}/a2a/v1/${path.replace('{id}', id)}`, token, {
          headers: { 'A2A-Version': version },
          ...(body === undefined ? {} : { body: JSON.stringify(body(version, id)) }),
        }),
    ]),
  ),
  ...REST.map(([verb, path]): [string, Ask] => [
    `${verb} /a2a/${path}`,
    ({ url, token }, id) => http(verb, `${url}/a2a/${path.replace('{id}', id)}`, token),
  ]),
];

/** An answer as it is but for the task's id and what differs in any two answers. */
export async function masked(answer: Promise<HttpResponse>, id: string) {
  const { status, headers, text } = await answer;
  const kept = [...headers].filter(([name]) => name !== 'date');
  return { status, headers: kept, text: text.replaceAll(id, '<id>') };
}
