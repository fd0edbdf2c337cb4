import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { V1Caller } from '../../support/clients/rpc.js';
import { writeAgentModule } from '../../support/processes/agent-module.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const AGENT = `export default {
  name: 'careless', description: 'Rejects a promise without a handler', version: '1.0.0',
  skills: [{ id: 'x', name: 'X', description: 'X', tags: [] }],
  async run(ctx) {
    Promise.reject(new Error('no handler'));
    await ctx.artifact({ id: 'text', parts: [{ text: 'done' }] });
  },
};`;

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ env: { ACTA_AGENTS: `demo,${await writeAgentModule(AGENT)}` } });
}, 60_000);
afterAll(() => server?.stop());

describe('An agent that rejects a promise without a handler', () => {
  it('completes its tasks, ends no other run, and its error is logged', async () => {
    const demo = new V1Caller(server.url, TOKEN);
    const other = await demo.start('sleep 1s');
    const careless = new V1Caller(`${server.url}/agents/careless`, TOKEN);
    expect((await careless.send('go')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await careless.send('again')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await demo.get(other.id)).status.state).toMatch(/WORKING|COMPLETED/);
    expect(server.process.output).toContain('no handler');
  });
});
