import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, http, sendParams } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const V1 = { headers: { 'A2A-Version': '1.0' } };
let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

/** Returns the error message of any API. */
function errorMessage(text: string): string {
  const body = JSON.parse(text) as { error: string | { message: string } };
  return typeof body.error === 'string' ? body.error : body.error.message;
}

describe('The server', () => {
  it.each([
    ['PUT', '/a2a', 'POST'],
    ['GET', '/a2a/tasks', 'POST'],
    ['GET', '/a2a/tasks/', 'POST'],
    ['PUT', '/a2a/tasks/x', 'DELETE, GET'],
    ['POST', '/a2a/tasks/x/stream', 'GET'],
    ['PATCH', '/a2a/agent', 'GET'],
    ['GET', '/a2a/v1/message:send', 'POST'],
    ['PUT', '/a2a/v1/tasks/x', 'GET'],
    ['POST', '/api/tasks?x=y', 'GET'],
    ['DELETE', '/api/tasks/x:resume', 'GET, POST'],
    ['POST', '/api/tasks/x/events', 'GET'],
    ['GET', '/api/workers/claim', 'POST'],
    ['GET', '/api/runs/x/finish', 'POST'],
    ['POST', '/.well-known/agent-card.json', 'GET'],
    ['POST', '/health', 'GET'],
    ['DELETE', '/metrics', 'GET'],
    ['GET', '/agents/demo/a2a', 'POST'],
    ['GET', '/agents/demo/a2a/tasks', 'POST'],
  ])('returns 405 with the allowed methods for %s %s', async (verb, path, allow) => {
    const { status, headers, text } = await http(verb, `${server.url}${path}`, TOKEN, V1);
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    expect(errorMessage(text)).toBe(
      `method ${verb} is not allowed at this path; use ${allow.replaceAll(', ', ' or ')}`,
    );
  });

  it.each([
    ['/', '/.well-known/agent-card.json'],
    ['/v1/tasks', '/a2a/v1/'],
    ['/a2a/task', '/a2a/tasks'],
    ['/api', '/api/tasks'],
    ['/api/task', '/api/tasks'],
    ['/agents', '/health'],
    ['/agents/nobody/a2a', '/health'],
    ['/agents/demo/api/tasks', '/agents/{name}/a2a'],
    ['/.well-known/agent.json', '/.well-known/agent-card.json'],
    ['/health/readiness', '/health/ready'],
  ])('returns 404 with a suggestion for %s', async (path, suggestion) => {
    for (const verb of ['GET', 'POST']) {
      const { status, text } = await http(verb, `${server.url}${path}`, TOKEN, V1);
      expect([status, errorMessage(text)]).toEqual([404, expect.stringContaining(suggestion)]);
    }
  });

  it('returns the required A2A-Version header for a JSON-RPC method of the other version', async () => {
    const params = sendParams('hello');
    for (const [version, method, header] of [
      [null, 'SendMessage', 'A2A-Version: 1.0'],
      ['0.3', 'GetTask', 'A2A-Version: 1.0'],
      ['1.0', 'message/send', 'A2A-Version: 0.3'],
      ['1.0', 'SendMesage', 'it has SendMessage, '],
    ] as const) {
      const { error } = (await call(server.url, TOKEN, version, method, params)).body;
      expect(error).toMatchObject({ code: -32601, message: expect.stringContaining(header) });
    }
  });

  it('returns the required A2A-Version header for an HTTP+JSON path of the other version', async () => {
    const request = (verb: string, path: string, version: string, content?: object) =>
      http(verb, `${server.url}/a2a/v1/${path}`, TOKEN, {
        headers: { 'A2A-Version': version },
        ...(content === undefined ? {} : { body: JSON.stringify(content) }),
      });
    const body = async (response: ReturnType<typeof request>) => JSON.stringify(JSON.parse((await response).text));
    expect(await body(request('GET', 'tasks', ''))).toContain('A2A 1.0 has it: send A2A-Version: 1.0');
    expect(await body(request('POST', 'message/send', '1.0', {}))).toContain('message:send');
    expect(await body(request('POST', 'message:send', '', sendParams('hello')))).toContain('read as A2A 0.3');
    expect(await body(request('POST', 'message:send', '0.3', sendParams('hello')))).not.toContain('read as');
  });

  it('returns 400 with the required encoding for a path that cannot be decoded', async () => {
    const { status, text } = await http('GET', `${server.url}/a2a/tasks/%zz`, TOKEN);
    expect([status, errorMessage(text)]).toEqual([400, expect.stringContaining('percent-encode')]);
  });
});
