import { describe, expect, it } from '@jest/globals';
import { call, http, sendParams } from '../../support/clients/rpc.js';
import { rawRequest } from '../../support/clients/raw-http.js';
import { useServer } from '../../support/processes/spec-server.js';

const server = useServer({ ACTA_AUTH: 'none' });

const request = (headers: string[], line = 'GET /a2a/agent HTTP/1.1') =>
  rawRequest(server.url, [`${[line, ...headers].join('\r\n')}\r\n\r\n`]);
const port = () => new URL(server.url).port;

describe('A server without authentication', () => {
  it('accepts a request from this machine as the bootstrap admin, without a credential', async () => {
    const { body } = await call(server.url, null, '1.0', 'SendMessage', sendParams('hello'));
    expect(body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null);
    expect(JSON.parse(text)).not.toHaveProperty('securitySchemes');
  });

  it('accepts a Host and an Origin with a loopback address', async () => {
    for (const host of [`127.0.0.1:${port()}`, `localhost:${port()}`, '[::1]:80', '127.8.9.1', 'LOCALHOST']) {
      expect(await request([`Host: ${host}`])).toMatchObject({ status: 200 });
    }
    for (const origin of [`http://localhost:${port()}`, 'http://127.0.0.1:3000', 'https://[::1]']) {
      expect(await request([`Host: localhost:${port()}`, `Origin: ${origin}`])).toMatchObject({ status: 200 });
    }
  });

  // A web page whose name is rebound to this machine sends such a Host.
  it('rejects any other Host with 403', async () => {
    for (const host of [
      'evil.example',
      `evil.example:${port()}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
      '',
    ]) {
      expect(await request([`Host: ${host}`])).toMatchObject({ status: 403 });
    }
    expect(await request([], 'GET /a2a/agent HTTP/1.0')).toMatchObject({ status: 403 });
  });

  it('rejects any other Origin with 403', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'file://', '']) {
      expect(await request([`Host: localhost:${port()}`, `Origin: ${origin}`])).toMatchObject({ status: 403 });
    }
    const response = await http('POST', `${server.url}/a2a`, null, {
      headers: { 'A2A-Version': '1.0', Origin: 'https://evil.example' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks' }),
    });
    expect(response.status).toBe(403);
    expect(JSON.parse(response.text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: expect.any(Number) } });
  });
});
