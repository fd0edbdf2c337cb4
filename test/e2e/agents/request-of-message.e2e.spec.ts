import { fileURLToPath } from 'node:url';
import type { JsonObject } from '@app/domain';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { http, sendParams, sendParamsV03 } from '../../support/clients/rpc.js';
import { RecordingUpstream } from '../../support/processes/recording-upstream.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { REPORTER } from './modules/agent-modules.js';

const REMOTE = fileURLToPath(new URL('../../../examples/agents/remote.mjs', import.meta.url));
const EXTENSION = 'https://example.com/extensions/priority/v1';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const METADATA = { ticket: 'T-1', nested: { list: [1, null, 'ü'] } };
const SENT = {
  metadata: METADATA,
  acceptedOutputModes: ['application/json', 'text/plain'],
  historyLength: 3,
  extensions: [EXTENSION],
};

describe.each(['1.0', '0.3'] as const)('A message of A2A %s with metadata, configuration and extensions', (version) => {
  let upstream: RecordingUpstream;
  const server = useServer(async () => {
    upstream = await RecordingUpstream.start(version);
    return { ACTA_AGENTS: `${REPORTER},${upstream.url},${REMOTE}`, ACTA_UPSTREAM_ALLOW_PRIVATE: 'true' };
  });
  afterAll(() => upstream?.stop());
  let workerKey: string;
  beforeAll(async () => {
    workerKey = await server.database.createKey({ subject: 'worker', role: 'worker', agents: ['shout'] });
  });

  /** Sends the message to an agent, and returns the text of the response. */
  async function send(agent: string, returnImmediately: boolean) {
    const { metadata, acceptedOutputModes, historyLength } = SENT;
    const mode: JsonObject = version === '1.0' ? { returnImmediately } : { blocking: !returnImmediately };
    const configuration = { acceptedOutputModes, historyLength, ...mode };
    const [method, params] =
      version === '1.0'
        ? ['SendMessage', sendParams('hi', { metadata, configuration })]
        : ['message/send', sendParamsV03('hi', { metadata, configuration })];
    const { text } = await http('POST', `${server.url}/agents/${agent}/a2a`, TOKEN, {
      headers: {
        'A2A-Version': version,
        [version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions']: EXTENSION,
        traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
        'User-Agent': 'example-client/1.0',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return text;
  }

  async function recorded(agent: string) {
    const tasks = await http('GET', `${server.url}/api/tasks?pageSize=100`, TOKEN);
    const task = (JSON.parse(tasks.text) as { tasks: { id: string; agent: string }[] }).tasks.find(
      (each) => each.agent === agent,
    )!;
    const page = await http('GET', `${server.url}/api/tasks/${task.id}/events`, TOKEN);
    const { events } = JSON.parse(page.text) as { events: { type: string; facts: JsonObject; content: JsonObject }[] };
    const { facts, content } = events.find(({ type }) => type === 'MessageAccepted')!;
    return { facts: facts['request'] as JsonObject, content: content['request'] as JsonObject };
  }

  /** What `ctx.request` and a claim contain. */
  const received = (returnImmediately: boolean) => ({
    metadata: METADATA,
    configuration: { acceptedOutputModes: SENT.acceptedOutputModes, historyLength: 3, returnImmediately },
    extensions: SENT.extensions,
    protocolVersion: version,
    trace: expect.objectContaining({ parent: expect.stringContaining(TRACE) }),
    client: { name: 'example-client/1.0', addressClass: 'loopback' },
  });

  it('is recorded with them, and its agent receives them in ctx.request', async () => {
    const text = await send('reporter', false);
    const { facts, content } = await recorded('reporter');
    const configuration = { acceptedOutputModes: SENT.acceptedOutputModes, historyLength: 3, returnImmediately: false };
    expect(facts).toEqual({ configuration, extensions: SENT.extensions, addressClass: 'loopback' });
    expect(content).toEqual({ metadata: METADATA, clientName: 'example-client/1.0' });
    const { result } = JSON.parse(text) as { result: JsonObject };
    const task = (version === '1.0' ? result['task'] : result) as { artifacts: { parts: { data: object }[] }[] };
    expect(task.artifacts[0]!.parts[0]!.data).toEqual(received(false));
  });

  it('is claimed by a remote worker with them', async () => {
    await send('shout', true);
    const claimed = await http('POST', `${server.url}/api/workers/claim`, workerKey, { body: '{"waitMs":10000}' });
    const [run] = (JSON.parse(claimed.text) as { runs: { request: object }[] }).runs;
    expect(run!.request).toEqual(received(true));
  });

  it('reaches an upstream agent with them', async () => {
    await send('recorder', false);
    const { headers, body } = upstream.requests.at(-1)!;
    const { metadata, configuration } = body.params as { metadata: JsonObject; configuration: JsonObject };
    expect(metadata).toEqual(METADATA);
    expect(configuration).toMatchObject({ acceptedOutputModes: SENT.acceptedOutputModes, historyLength: 3 });
    expect(headers[version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']).toBe(EXTENSION);
    expect(headers['traceparent']).toContain(TRACE);
  });
});
