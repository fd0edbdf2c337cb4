import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '@app/domain';
import { http } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();
let worker: string;
let task: string;
beforeAll(async () => {
  worker = await server.database.createKey({ subject: 'worker', role: 'worker', agents: ['demo'] });
  ({ id: task } = await server.caller.send('hello'));
});

/** The size of a text in a body, and of one in the path or in a header. */
const LARGE = 'x'.repeat(1_000_000);
const LONG = 'x'.repeat(20_000);
/** More than any error needs that names what is wrong. */
const MAX_RESPONSE_BYTES = 4_096;

const message = (more: object) => ({
  message: { messageId: 'large', role: 'ROLE_USER', parts: [{ text: 'x' }], ...more },
});
const rpc = (method: string, params: object): Json => ({ jsonrpc: '2.0', id: 1, method, params: params as Json });

describe('An error', () => {
  it.each<[string, Json]>([
    ['method', rpc(LARGE, {})],
    ['jsonrpc', { jsonrpc: LARGE, id: 1, method: 'GetTask' }],
    ['id of the call', { jsonrpc: '2.0', id: LARGE, method: 'GetTask' }],
    ['ring', rpc('SendMessage', message({ metadata: { ring: LARGE } }))],
    [
      'ring of a part',
      rpc('SendMessage', message({ parts: [{ data: { ring: LARGE } }], metadata: { ring: 'other' } })),
    ],
    [
      'ring beside a large one',
      rpc('SendMessage', message({ parts: [{ data: { ring: 'other' } }], metadata: { ring: LARGE } })),
    ],
    ['role', rpc('SendMessage', message({ role: LARGE }))],
    ['url', rpc('SendMessage', message({ parts: [{ url: LARGE }] }))],
    ['media type', rpc('SendMessage', message({ parts: [{ text: 'x', mediaType: LARGE }] }))],
    ['message id', rpc('SendMessage', message({ messageId: LARGE }))],
    ['task id', rpc('GetTask', { id: LARGE })],
    ['tenant', rpc('GetTask', { id: 'x', tenant: LARGE })],
    ['status', rpc('ListTasks', { status: LARGE })],
    ['page token', rpc('ListTasks', { pageToken: LARGE })],
    ['timestamp', rpc('ListTasks', { statusTimestampAfter: LARGE })],
    ['webhook', rpc('CreateTaskPushNotificationConfig', { taskId: 'x', url: LARGE })],
    [
      'media type of the output',
      rpc('SendMessage', { ...message({}), configuration: { acceptedOutputModes: [LARGE] } }),
    ],
  ])('does not grow with a large %s', async (_name, body) => {
    for (const version of ['1.0', '0.3']) {
      const { text } = await http('POST', `${server.url}/a2a`, TOKEN, {
        headers: { 'A2A-Version': version },
        body: JSON.stringify(body),
      });
      expect(JSON.parse(text)).toHaveProperty('error');
      expect(Buffer.byteLength(text)).toBeLessThan(MAX_RESPONSE_BYTES);
    }
  });

  it.each<[string, string, string, Record<string, string>]>([
    ['task id in a path of the native REST', 'GET', `/api/tasks/${LONG}`, {}],
    ['task id in a path of the simple REST', 'GET', `/a2a/tasks/${LONG}`, {}],
    ['task id in a path of HTTP+JSON', 'GET', `/a2a/v1/tasks/${LONG}`, {}],
    ['artifact id', 'GET', `/api/tasks/{id}/deliveries/${LONG}/parts`, {}],
    ['parameter name', 'GET', `/api/tasks?${LONG}=1`, {}],
    ['parameter', 'GET', `/api/tasks?owner=${LONG}`, {}],
    ['path', 'GET', `/${LONG}`, {}],
    ['method of HTTP+JSON', 'POST', `/a2a/v1/tasks/x:${LONG}`, {}],
    ['entry of the audit log', 'GET', `/api/audit/log?after=${LONG}`, {}],
    ['Last-Event-ID', 'GET', '/api/tasks/{id}/stream', { 'Last-Event-ID': LONG }],
    ['A2A-Version', 'GET', '/a2a/v1/tasks', { 'A2A-Version': LONG }],
    ['Content-Type', 'POST', '/a2a', { 'Content-Type': `text/${LONG}` }],
    ['Content-Encoding', 'POST', '/a2a', { 'Content-Encoding': LONG }],
    ['Idempotency-Key', 'POST', '/a2a/tasks', { 'Idempotency-Key': LONG }],
  ])('does not grow with a long %s', async (_name, verb, path, headers) => {
    const options = { headers, ...(verb === 'POST' ? { body: '{"input":"x"}' } : {}) };
    const { status, text } = await http(verb, server.url + path.replace('{id}', task), TOKEN, options);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_RESPONSE_BYTES);
  });

  it('does not grow with a large name of an agent or of a run from a worker', async () => {
    const claim = { body: JSON.stringify({ agents: [LARGE] }) };
    const fence = { leaseGeneration: 1, dispatcherGeneration: 1, seq: 1, outcome: { type: LARGE } };
    for (const [path, options] of [
      ['workers/claim', claim],
      ['runs/x/finish', { body: JSON.stringify(fence) }],
      [`runs/${LONG}/heartbeat`, { body: JSON.stringify(fence) }],
    ] as const) {
      const { status, text } = await http('POST', `${server.url}/api/${path}`, worker, options);
      expect([path.slice(0, 20), status >= 400 && Buffer.byteLength(text) < MAX_RESPONSE_BYTES]).toEqual([
        path.slice(0, 20),
        true,
      ]);
    }
  });
});
