import { describe, expect, it } from '@jest/globals';
import { V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { CARELESS } from './modules/agent-modules.js';

const server = useServer({ ACTA_AGENTS: `demo,${CARELESS}` });

describe('An agent that rejects a promise without a handler', () => {
  it('completes its tasks, ends no other run, and its error is logged', async () => {
    const other = await server.caller.start('sleep 1s');
    const careless = new V1Caller(`${server.url}/agents/careless`, TOKEN);
    expect((await careless.send('go')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await careless.send('again')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await server.caller.get(other.id)).status.state).toMatch(/WORKING|COMPLETED/);
    expect(server.process.output).toContain('no handler');
  });
});
