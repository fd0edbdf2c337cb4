import { beforeAll, describe, expect, it } from '@jest/globals';
import { http, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer({ ACTA_AGENTS: 'demo,conformance' });
let workerKey: string;
let first: string;
let contextId: string;

beforeAll(async () => {
  workerKey = await server.database.createKey({ subject: 'worker', role: 'worker', agents: ['demo'] });
  const rings = ['ring:dev', 'ring:ops'];
  const alice = new V1Caller(server.url, await server.database.createKey({ subject: 'alice', rings }));
  const bob = new V1Caller(server.url, await server.database.createKey({ subject: 'bob', rings }));
  ({ id: first, contextId } = await alice.send('one'));
  await alice.send('two', { message: { metadata: { ring: 'ring:ops' } } });
  await bob.send('three');
});

const get = async (path: string, token = TOKEN) => {
  const { status, text } = await http('GET', `${server.url}/api/${path}`, token);
  return { status, body: JSON.parse(text) as { error: string; totalSize: number; tasks: { statusAt: string }[] } };
};
const total = async (query: string) => (await get(`tasks?${query}`)).body.totalSize;

describe('A path of the native REST', () => {
  it.each([
    ['tasks?owned=bob', 'owned'],
    ['tasks?limit=5', 'limit'],
    ['tasks/{id}?version=1', 'version'],
    ['tasks/{id}?at=garbage', 'at'],
    ['tasks/{id}/stream?after=1', 'after'],
    ['tasks/{id}/events?pageSize=1', 'pageSize'],
    ['tasks/{id}/messages?pageToken=x', 'pageToken'],
    ['tasks/{id}/runs?version=1', 'version'],
    ['tasks/{id}/deliveries?artifact=x', 'artifact'],
    ['tasks/{id}/deliveries/text/parts?last=1', 'last'],
    ['tasks/{id}/pushes?state=dead', 'state'],
    ['audit/log?page=2', 'page'],
  ])('%s rejects a parameter that it does not have', async (path, name) => {
    const { status, body } = await get(path.replace('{id}', first));
    expect([status, body.error]).toEqual([400, expect.stringContaining(`${name}: is not a parameter of this path; `)]);
  });

  it('rejects the parameters of commands', async () => {
    const resumed = await http('POST', `${server.url}/api/tasks/${first}:resume?force=true`, TOKEN);
    expect([resumed.status, resumed.text]).toEqual([400, expect.stringContaining('force: is not a parameter')]);
    const claimed = await http('POST', `${server.url}/api/workers/claim?limit=5`, workerKey, { body: '{}' });
    expect([claimed.status, claimed.text]).toEqual([400, expect.stringContaining('limit: is not a parameter')]);
  });

  it('names every parameter that it has', async () => {
    expect((await get('tasks?x=1')).body.error).toContain(
      'the parameters are contextId, status, pageSize, pageToken, historyLength, owner, agent, ring, since, until',
    );
  });

  it('has no parts of an artifact that the task does not have', async () => {
    expect(await get(`tasks/${first}/deliveries/nope/parts`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('artifactId: the task has no artifact "nope"') },
    });
    expect((await get(`tasks/${first}/deliveries/text/parts?after=2147483647`)).status).toBe(200);
  });
});

describe('GET /api/tasks', () => {
  it('filters by owner, agent, ring, context and time', async () => {
    expect(await total('')).toBe(3);
    expect(await total('owner=alice')).toBe(2);
    expect(await total('owner=nobody')).toBe(0);
    expect(await total('agent=demo')).toBe(3);
    expect(await total('agent=conformance')).toBe(0);
    expect(await total('ring=ring:ops')).toBe(1);
    expect(await total('owner=alice&ring=ring:dev')).toBe(1);
    expect(await total(`contextId=${contextId}`)).toBe(1);
    const { body } = await get('tasks');
    const [newest, middle] = body.tasks.map(({ statusAt }) => encodeURIComponent(statusAt));
    expect(await total(`since=${newest}`)).toBeGreaterThanOrEqual(1);
    expect(await total(`until=${middle}`)).toBeLessThanOrEqual(1);
    expect((await total(`since=${middle}`)) + (await total(`until=${middle}`))).toBe(3);
    expect((await get('tasks?since=yesterday')).status).toBe(400);
  });

  it('binds the token of a page to its filters', async () => {
    const page = await http('GET', `${server.url}/api/tasks?owner=alice&pageSize=1`, TOKEN);
    const { nextPageToken } = JSON.parse(page.text) as { nextPageToken: string };
    expect((await get(`tasks?owner=alice&pageToken=${nextPageToken}`)).status).toBe(200);
    expect((await get(`tasks?owner=bob&pageToken=${nextPageToken}`)).status).toBe(400);
    expect((await get(`tasks?ring=ring:dev&pageToken=${nextPageToken}`)).status).toBe(400);
  });
});
