import { type DemoStep, step } from './demo-step.js';
import { expectLike } from './expect-like.js';

/** Health and discovery. */
export const OPERATIONS_STEPS: readonly DemoStep[] = [
  step('Health: the server is up, and says which versions it speaks', async (client) => {
    const { status, body } = await client.http('GET', '/health');
    expectLike(status, 200);
    expectLike(body, { status: 'ok', protocolVersions: ['1.0', '0.3'], database: 'ok' });
  }),
  step('Agent card 1.0: 1.0 is offered first, 0.3 after it', async (client) => {
    const { body } = await client.http('GET', '/.well-known/agent-card.json', { headers: { 'A2A-Version': '1.0' } });
    expectLike(body, { name: 'demo', skills: [{ id: 'upper-case' }] });
    expectLike(body.supportedInterfaces[0], { protocolVersion: '1.0', url: `${client.url}/a2a` });
    expectLike(body.supportedInterfaces.at(-1), { protocolVersion: '0.3' });
  }),
  step('Agent card 0.3: what a client without a version header gets', async (client) => {
    const { body, headers } = await client.http('GET', '/.well-known/agent-card.json');
    expectLike(body, { protocolVersion: /^0\.3/, name: 'demo', url: `${client.url}/a2a` });
    const again = await client.http('GET', '/.well-known/agent-card.json', {
      headers: { 'If-None-Match': headers.get('etag') ?? '' },
    });
    expectLike(again.status, 304, 'the status for a known ETag');
  }),
  step('Without a credential nothing is answered', async (client) => {
    const { status } = await client.http('POST', '/a2a', { headers: { Authorization: '' }, body: {} });
    expectLike(status, 401);
  }),
];
