import { describe, expect, it } from '@jest/globals';
import { sendParams } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';

const server = useServer({ ACTA_AGENTS: 'conformance' });

const send = (messageId: string) => server.caller.send('a scenario', { message: { messageId } });

describe('The conformance agent', () => {
  it.each([
    ['tck-artifact-text-1', { text: 'Generated text content' }],
    ['tck-artifact-file-1', { raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' }],
    [
      'tck-artifact-file-url-1',
      { url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: 'text/plain' },
    ],
    ['tck-artifact-data-1', { data: { key: 'value', count: 42 } }],
  ])('publishes the artifact of the scenario %s', async (messageId, part) => {
    expect(await send(messageId)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [part] }],
    });
  });

  it('creates a new task for each message, also for a known messageId', async () => {
    const [first, second] = [await send('tck-input-required-1'), await send('tck-input-required-1')];
    expect(second.id).not.toBe(first.id);
    expect(second.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('publishes an artifact in chunks, which are joined', async () => {
    const { artifacts } = await send('tck-stream-artifact-chunked-1');
    const texts = artifacts?.map(({ parts }) => parts.map(({ text }) => text).join(''));
    expect(texts).toEqual(['chunk-1 chunk-2']);
  });

  // [A2A-SEND-7]
  it('rejects a part of an unsupported media type, and no task is created', async () => {
    const { totalSize } = await server.caller.list();
    const parts = [{ raw: 'dGNr', mediaType: 'application/x-unsupported' }];
    const { body } = await server.caller.call('SendMessage', sendParams('', { message: { parts } }));
    expect(body.error).toMatchObject({ code: -32005 });
    expect((await server.caller.list()).totalSize).toBe(totalSize);
  });
});
