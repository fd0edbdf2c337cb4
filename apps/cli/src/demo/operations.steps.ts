import { type DemoStep, step } from './demo-step.js';
import { expectMatch } from './expect-match.js';

/** The steps of health, discovery and authentication. */
export const OPERATIONS_STEPS: readonly DemoStep[] = [
  step('Health: the server is healthy and lists its protocol versions', async (client) => {
    const { status, body } = await client.http('GET', '/health');
    expectMatch(status, 200);
    expectMatch(body, { status: 'ok', protocolVersions: ['1.0', '0.3'], database: 'ok' });
  }),
  step('Agent card 1.0: lists 1.0 first and 0.3 last', async (client) => {
    const { body } = await client.http('GET', '/.well-known/agent-card.json', { headers: { 'A2A-Version': '1.0' } });
    expectMatch(body, { name: 'demo', skills: [{ id: 'upper-case' }] });
    expectMatch(body.supportedInterfaces[0], { protocolVersion: '1.0', url: `${client.url}/a2a` });
    expectMatch(body.supportedInterfaces.at(-1), { protocolVersion: '0.3' });
  }),
  step('Agent card 0.3: is the response without a version header', async (client) => {
    const { body, headers } = await client.http('GET', '/.well-known/agent-card.json');
    expectMatch(body, { protocolVersion: /^0\.3/, name: 'demo', url: `${client.url}/a2a` });
    const again = await client.http('GET', '/.well-known/agent-card.json', {
      headers: { 'If-None-Match': headers.get('etag') ?? '' },
    });
    expectMatch(again.status, 304, 'the status for a known ETag');
  }),
  step('Authentication: a request without a credential returns 401', async (client) => {
    const { status } = await client.http('POST', '/a2a', { headers: { Authorization: '' }, body: {} });
    expectMatch(status, 401);
  }),
];
