import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, http, sendParams } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const V1 = { headers: { 'A2A-Version': '1.0' } };
let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

/** What a surface says is wrong. */
function saidIn(text: string): string {
  const body = JSON.parse(text) as { error: string | { message: string } };
  return typeof body.error === 'string' ? body.error : body.error.message;
}

describe('someone who is here for the first time', () => {
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
  ])('is told at %s %s which verbs the path takes', async (verb, path, allow) => {
    const { status, headers, text } = await http(verb, `${server.url}${path}`, TOKEN, V1);
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    expect(saidIn(text)).toBe(`this path does not take ${verb}; it takes ${allow}`);
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
  ])('is told at %s where to go on', async (path, elsewhere) => {
    for (const verb of ['GET', 'POST']) {
      const { status, text } = await http(verb, `${server.url}${path}`, TOKEN, V1);
      expect([status, saidIn(text)]).toEqual([404, expect.stringContaining(elsewhere)]);
    }
  });

  it('is told of the header when a method is one of the other version, which is not guessed', async () => {
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

  it('is told of the header over HTTP+JSON, too', async () => {
    const ask = (verb: string, path: string, version: string, body?: object) =>
      http(verb, `${server.url}/a2a/v1/${path}`, TOKEN, {
        headers: { 'A2A-Version': version },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const told = async (answer: ReturnType<typeof ask>) => JSON.stringify(JSON.parse((await answer).text));
    expect(await told(ask('GET', 'tasks', ''))).toContain('A2A 1.0 has it: send A2A-Version: 1.0');
    expect(await told(ask('POST', 'message/send', '1.0', {}))).toContain('message:send');
    expect(await told(ask('POST', 'message:send', '', sendParams('hello')))).toContain('read as A2A 0.3');
    expect(await told(ask('POST', 'message:send', '0.3', sendParams('hello')))).not.toContain('read as');
  });

  it('is told how to write a path that cannot be read', async () => {
    const { status, text } = await http('GET', `${server.url}/a2a/tasks/%zz`, TOKEN);
    expect([status, saidIn(text)]).toEqual([400, expect.stringContaining('percent-encode')]);
  });
});
