import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
let caller: V1Caller;

beforeAll(async () => {
  server = await startServer({ env: { ACTA_AGENTS: 'conformance' } });
  caller = new V1Caller(server.url, TOKEN);
}, 90_000);
afterAll(() => server?.stop());

const say = (messageId: string) => caller.send('a scenario', { message: { messageId } });

it.each([
  ['tck-artifact-text-1', { text: 'Generated text content' }],
  ['tck-artifact-file-1', { raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' }],
  [
    'tck-artifact-file-url-1',
    { url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: 'text/plain' },
  ],
  ['tck-artifact-data-1', { data: { key: 'value', count: 42 } }],
])('answers %s with the artifact of its scenario', async (messageId, part) => {
  expect(await say(messageId)).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [part] }],
  });
});

it('takes each message for a new one, also under an id that it has seen', async () => {
  const [first, second] = [await say('tck-input-required-1'), await say('tck-input-required-1')];
  expect(second.id).not.toBe(first.id);
  expect(second.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
});

it('joins the chunks of an artifact', async () => {
  const { artifacts } = await say('tck-stream-artifact-chunked-1');
  const texts = artifacts?.map(({ parts }) => parts.map(({ text }) => text).join(''));
  expect(texts).toEqual(['chunk-1 chunk-2']);
});

// [A2A-SEND-7]
it('refuses a part of a media type that it does not take', async () => {
  const { totalSize } = await caller.list();
  const parts = [{ raw: 'dGNr', mediaType: 'application/x-unsupported' }];
  const { body } = await caller.call('SendMessage', sendParams('', { message: { parts } }));
  expect(body.error).toMatchObject({ code: -32005 });
  expect((await caller.list()).totalSize).toBe(totalSize);
});
