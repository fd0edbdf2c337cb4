import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { http, sendParams, sendParamsV03 } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { SEVERAL_AGENTS } from '../agents/modules/agent-modules.js';

const server = useServer({ ACTA_AGENTS: `demo,${SEVERAL_AGENTS}` });
const serverWithoutStreaming = useServer({ ACTA_CAPABILITIES: '' });

interface Call {
  readonly method: string;
  readonly params?: JsonObject;
  readonly headers?: Record<string, string>;
  readonly path?: string;
  readonly token?: string | null;
}

/** Sends a call with the id "7" whose client reads events only, unless `headers` contains a different `Accept`. */
async function send({ method, params = {}, headers, path = '/a2a', token = TOKEN }: Call, url = server.url) {
  const response = await http('POST', `${url}${path}`, token, {
    headers: { 'A2A-Version': '1.0', Accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: '7', method, params }),
  });
  return { ...response, mediaType: response.headers.get('content-type')?.split(';')[0] };
}

/** Returns the error in a stream of one event. */
async function errorEvent(call: Call, url?: string) {
  const { status, headers, text, mediaType } = await send(call, url);
  expect([status, mediaType, headers.get('cache-control')]).toEqual([200, 'text/event-stream', 'no-store']);
  const [, event] = /^data: (.+)\n\n$/.exec(text)!;
  const { id, error } = JSON.parse(event!) as { id: string; error: { code: number; message: string } };
  expect(id).toBe('7');
  return error;
}

const V03 = { 'A2A-Version': '0.3' };
const missing = randomUUID();
const sendToMissing = sendParams('hello', { message: { taskId: missing } });

describe('An error of a streaming JSON-RPC method', () => {
  it.each<[string, number, Call]>([
    ['1.0 for a missing task to subscribe to', -32001, { method: 'SubscribeToTask', params: { id: missing } }],
    ['1.0 for a message to a missing task', -32001, { method: 'SendStreamingMessage', params: sendToMissing }],
    ['1.0 for invalid params', -32602, { method: 'SendStreamingMessage', params: { message: {} } }],
    [
      '0.3 for a missing task to subscribe to',
      -32001,
      { method: 'tasks/resubscribe', params: { id: missing }, headers: V03 },
    ],
    ['0.3 for invalid params', -32602, { method: 'message/stream', params: { message: {} }, headers: V03 }],
    [
      '0.3 for a message to a missing task',
      -32001,
      { method: 'message/stream', params: sendParamsV03('hello', { message: { taskId: missing } }), headers: V03 },
    ],
    ['1.0 that is sent as 0.3', -32601, { method: 'SendStreamingMessage', params: sendToMissing, headers: V03 }],
    [
      'an unsupported version',
      -32009,
      { method: 'SendStreamingMessage', params: sendToMissing, headers: { 'A2A-Version': '2.0' } },
    ],
    [
      '1.0 below the path of an agent',
      -32001,
      { method: 'SubscribeToTask', params: { id: missing }, path: '/agents/plain/a2a' },
    ],
  ])('is an event stream of one event, of A2A %s, if the client reads events only', async (_case, code, call) => {
    expect(await errorEvent(call)).toMatchObject({ code, message: expect.any(String) });
  });

  it.each<[string, Call]>([
    ['1.0', { method: 'SendStreamingMessage', params: sendParams('hello') }],
    ['1.0', { method: 'SubscribeToTask', params: { id: missing } }],
    ['0.3', { method: 'message/stream', params: sendParamsV03('hello'), headers: V03 }],
  ])('is an event stream of one event if streaming of A2A %s is not offered (%j)', async (_version, call) => {
    expect(await errorEvent(call, serverWithoutStreaming.url)).toMatchObject({ code: -32004 });
  });

  it.each(['*/*', 'application/json', 'application/json, text/event-stream'])(
    'is JSON if the client sends Accept: %s',
    async (Accept) => {
      const { status, text, mediaType } = await send({
        method: 'SubscribeToTask',
        params: { id: missing },
        headers: { Accept },
      });
      expect([status, mediaType]).toEqual([200, 'application/json']);
      expect(JSON.parse(text)).toMatchObject({ id: '7', error: { code: -32001 } });
    },
  );

  // The HTTP client of the Python SDK of 0.3 sends its default beside the media type that the SDK wants.
  it('is an event stream of one event if the client sends a wildcard in a second Accept header', async () => {
    const headers = { Accept: '*/*, text/event-stream' };
    expect(await errorEvent({ method: 'SubscribeToTask', params: { id: missing }, headers })).toMatchObject({
      code: -32001,
    });
  });

  // STREAM-SUB-003 of the TCK, whose HTTP client is that of the Python SDK.
  it('is JSON if the client is httpx with A2A 1.0', async () => {
    const headers = { 'User-Agent': 'python-httpx/0.28.1' };
    const { text, mediaType } = await send({ method: 'SubscribeToTask', params: { id: missing }, headers });
    expect(mediaType).toBe('application/json');
    expect(JSON.parse(text)).toMatchObject({ id: '7', error: { code: -32001 } });
  });

  it.each<[string, Call]>([
    ['httpx with A2A 0.3', { method: 'tasks/resubscribe', headers: { ...V03, 'User-Agent': 'python-httpx/0.28.1' } }],
    ['Go with A2A 1.0', { method: 'SubscribeToTask', headers: { 'User-Agent': 'Go-http-client/1.1' } }],
    [
      'a program with httpx in its comment',
      { method: 'SubscribeToTask', headers: { 'User-Agent': 'x (python-httpx/1)' } },
    ],
  ])('is an event stream of one event if the client is %s', async (_client, call) => {
    expect(await errorEvent({ ...call, params: { id: missing } })).toMatchObject({ code: -32001 });
  });

  it('is JSON with status 401 if the credential is missing', async () => {
    const { status, text, mediaType } = await send({ method: 'SubscribeToTask', params: { id: missing }, token: null });
    expect([status, mediaType]).toEqual([401, 'application/json']);
    expect(JSON.parse(text)).toMatchObject({ error: { code: -31401 } });
  });
});

describe('An error of a JSON-RPC method without a stream', () => {
  it.each<[string, number, Call]>([
    ['GetTask', -32001, { method: 'GetTask', params: { id: missing } }],
    ['SendMessage', -32602, { method: 'SendMessage' }],
    ['an unknown method', -32601, { method: 'SendStreamingMessages' }],
    ['a method named constructor', -32601, { method: 'constructor' }],
  ])('is JSON for %s, also if the client reads events only', async (_method, code, call) => {
    const { status, text, mediaType } = await send(call);
    expect([status, mediaType]).toEqual([200, 'application/json']);
    expect(JSON.parse(text)).toMatchObject({ id: '7', error: { code } });
  });
});
