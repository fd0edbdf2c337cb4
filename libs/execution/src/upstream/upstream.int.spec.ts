import { createServer, type Server, type Socket, connect as dial } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf, type TaskView } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { eventually } from '../../../../test/support/clients/rpc.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import { Upstream } from '../../../../test/support/processes/upstream.js';
import type { Agent } from '../agents/agent.contract.js';
import { upstreamAgent } from './upstream.agent.js';

const TIMING = { patienceMs: 10_000, waitMs: 20, maxWaitMs: 200 };
const alice = aMember('alice');

let acta: Acta;
beforeAll(async () => {
  acta = await Acta.open();
});
afterAll(() => acta?.close());

const agentAt = (url: string, own: Partial<Agent> = {}) =>
  upstreamAgent({ url }, { allowPrivate: true, timing: TIMING }, own);
const artifactText = ({ artifacts }: TaskView) => artifacts.map(({ parts }) => parts.map((part) => part.text).join(''));

describe.each([
  { VERSION: '1.0', STREAMING: 'true' },
  { VERSION: '1.0', STREAMING: 'false' },
  { VERSION: '0.3', STREAMING: 'true' },
  { VERSION: '0.3', STREAMING: 'false' },
] as const)('an upstream agent of A2A $VERSION (streams: $STREAMING)', (setup) => {
  let upstream: Upstream;
  let replica: Replica;
  beforeAll(async () => {
    upstream = await Upstream.start(setup);
    const name = `upstream-${setup.VERSION}-${setup.STREAMING}`;
    replica = await acta.replica({ agents: [await agentAt(upstream.url, { name })] });
  });
  afterAll(async () => {
    await replica?.close();
    await upstream?.kill();
  });
  const events = (taskId: string) => replica.events(alice.tenantId, taskId);
  const named = (text: string) => `${text} (${setup.VERSION} ${setup.STREAMING})`;
  const send = (text: string) => replica.sendAndWait(alice, named(text));

  it('does the work, and every chunk of it is in the record in order', async () => {
    const view = await send('report chunks 5 every 120');
    expect([view.state.status, artifactText(view)]).toEqual(['completed', ['0 1 2 3 4 ']]);
    expect(textOf(view.statusMessage!)).toBe('done');
    const { tasks } = await upstream.state();
    const made = tasks.find(({ id }) => id === view.state.upstream?.taskId);
    expect(made?.contextId).toBe(view.state.upstream?.contextId);
    const recorded = await events(view.taskId);
    expect(recorded.find((event) => event.type === 'StatusReported')?.facts).toMatchObject({
      upstream: view.state.upstream,
    });
    const chunks = recorded.flatMap((event) => (event.type === 'ArtifactPublished' ? [event] : []));
    // How many there are depends on the hour: what comes within 100 ms is one.
    if (setup.STREAMING === 'true') expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.slice(1).every(({ facts }) => facts.append || setup.STREAMING === 'false')).toBe(true);
    expect(chunks.at(-1)!.facts.last).toBe(setup.STREAMING === 'true');
  });

  it('ends as the upstream task ends', async () => {
    const failed = await send('fail');
    expect([failed.state.status, textOf(failed.statusMessage!)]).toEqual(['failed', 'failed, as asked']);
    const rejected = await send('reject');
    expect([rejected.state.status, textOf(rejected.statusMessage!)]).toEqual(['rejected', 'rejected, as asked']);
  });

  it('replies without a task', async () => {
    const view = await send('reply');
    expect([view.state.status, textOf(view.statusMessage!)]).toEqual(['replied', named('reply').toUpperCase()]);
  });

  it('asks, and the answer goes on in the same upstream task, whose artifacts of earlier turns are continued', async () => {
    const asked = await send('draft then ask');
    expect([asked.state.status, textOf(asked.statusMessage!)]).toEqual(['input-required', 'which one?']);
    const { taskId } = asked;
    const view = await replica.sendAndWait(alice, aMessage(named('append')), { taskId });
    expect([view.state.status, view.statusMessage && textOf(view.statusMessage)]).toEqual(['completed', undefined]);
    expect(artifactText(view)).toEqual([`DRAFT ${named('append').toUpperCase()}`]);
    expect(view.state.upstream).toMatchObject({ taskId: asked.state.upstream!.taskId });
    const { calls } = await upstream.state();
    expect(calls.filter((call) => call.taskId === view.state.upstream!.taskId)).toHaveLength(2);
  });

  it('asks for an authorization', async () => {
    const view = await send('auth');
    expect([view.state.status, textOf(view.statusMessage!)]).toEqual(['auth-required', 'sign in']);
  });

  it('is canceled when its client cancels', async () => {
    const taskId = await replica.submit(alice, named('chunks 500 every 20'));
    await replica.until(alice.tenantId, taskId, (state) => state.upstream !== undefined);
    const view = await replica.cancel(alice, taskId);
    expect([view.state.status, view.statusMessage && textOf(view.statusMessage)]).toEqual([
      'canceled',
      'canceled upstream',
    ]);
    const { tasks } = await upstream.state();
    expect(tasks.find(({ id }) => id === view.state.upstream!.taskId)?.status.state).toBe(5);
  });

  it('is called off when its client cancels between two turns', async () => {
    const { taskId, state } = await send('then ask');
    expect((await replica.cancel(alice, taskId)).state.status).toBe('canceled');
    const theirs = async () => (await upstream.state()).tasks.find(({ id }) => id === state.upstream!.taskId)!;
    await eventually(theirs, ({ status }) => status.state === 5);
  });

  // F14
  it('gives an invalid response with a chunk for an artifact that was never started', async () => {
    const view = await send('unstarted');
    if (setup.STREAMING === 'false') return expect(view.state.status).toBe('completed');
    expect(view.state.status).toBe('failed');
    expect((await events(view.taskId)).at(-1)).toMatchObject({ facts: { reason: 'invalid-agent-response' } });
    return undefined;
  });

  it('is waited for when it is killed and comes back, and goes on with the same task', async () => {
    const taskId = await replica.submit(alice, named('killed chunks 500 every 20'));
    await replica.until(alice.tenantId, taskId, (state) => (state.run?.artifacts.length ?? 0) > 0);
    await upstream.kill();
    await upstream.restart();
    const { upstream: theirs, run } = await replica.until(
      alice.tenantId,
      taskId,
      ({ status }) => status === 'completed',
    );
    expect(artifactText(await replica.get(alice, taskId))).toEqual(['completed after restart']);
    expect(run?.attempt).toBe(1);
    const { calls } = await upstream.state();
    expect(calls.filter((call) => call.taskId === theirs!.taskId)).toHaveLength(1);
  });

  it('is asked again by the next attempt when it stays away for longer than a run waits', async () => {
    const hasty = await acta.replica({
      agents: [
        await upstreamAgent(
          { url: upstream.url },
          { allowPrivate: true, timing: { ...TIMING, patienceMs: 100 } },
          { name: `hasty-${setup.VERSION}-${setup.STREAMING}`, retry: { attempts: 20, backoffMs: 300 } },
        ),
      ],
    });
    const taskId = await hasty.submit(alice, named('chunks 400 every 20'));
    await hasty.until(alice.tenantId, taskId, (state) => (state.run?.artifacts.length ?? 0) > 0);
    await upstream.kill();
    await hasty.until(alice.tenantId, taskId, (state) => state.attempts > 1 || state.run?.outcome === 'lost');
    await upstream.restart();
    const { upstream: theirs } = await hasty.until(alice.tenantId, taskId, ({ status }) => status === 'completed');
    expect(artifactText(await hasty.get(alice, taskId))).toEqual(['completed after restart']);
    const { calls } = await upstream.state();
    expect(calls.filter((call) => call.taskId === theirs!.taskId)).toHaveLength(1);
    await hasty.close();
  });
});

describe('a message to an upstream agent at work', () => {
  it('is sent on to its task', async () => {
    const upstream = await Upstream.start();
    const replica = await acta.replica({ agents: [await agentAt(upstream.url, { name: 'forwarding' })] });
    const taskId = await replica.submit(alice, 'chunks 40 every 50');
    await replica.until(alice.tenantId, taskId, (state) => state.upstream !== undefined);
    await replica.submit(alice, aMessage('append'), { taskId });
    await replica.until(alice.tenantId, taskId, ({ status }) => status === 'completed');
    const { calls } = await upstream.state();
    expect(calls).toHaveLength(2);
    expect(new Set(calls.map((call) => call.taskId)).size).toBe(1);
    await replica.close();
    await upstream.kill();
  });
});

describe.each([
  { who: 'by the same run', patienceMs: TIMING.patienceMs },
  { who: 'by the next run, when the first was lost with it', patienceMs: 0 },
])('a send whose answer is lost', ({ who, patienceMs }) => {
  it(`is found by its context ${who}, and not sent twice, where the upstream agent can list its tasks`, async () => {
    const upstream = await Upstream.start();
    const proxy = await LossyProxy.start(upstream.url);
    const named = await Upstream.start({ CARD_URL: proxy.url });
    const timing = { ...TIMING, patienceMs };
    const own = { name: `lossy-${patienceMs}`, retry: { attempts: 5, backoffMs: 100 } };
    const lossy = await upstreamAgent({ url: named.url }, { allowPrivate: true, timing }, own);
    const replica = await acta.replica({ agents: [lossy] });
    proxy.swallow = true;
    const taskId = await replica.submit(alice, `${who} chunks 3 every 300`);
    await replica.until(alice.tenantId, taskId, ({ status }) => status === 'completed');
    expect(proxy.swallowed).toBe(1);
    const runs = (await replica.events(alice.tenantId, taskId)).filter(({ type }) => type === 'RunStarted');
    expect(runs).toHaveLength(patienceMs > 0 ? 1 : 2);
    expect(artifactText(await replica.get(alice, taskId))).toEqual(['0 1 2 ']);
    expect((await upstream.state()).calls).toHaveLength(1);
    await replica.close();
    await proxy.close();
    await upstream.kill();
    await named.kill();
  });
});

describe('an address of an upstream agent', () => {
  it('must be public unless private ones are allowed, also when a card names it', async () => {
    const refused = (url: string, allowPrivate = false) =>
      upstreamAgent({ url }, { allowPrivate }).then(
        () => null,
        (error: Error) => error.message,
      );
    expect(await refused('https://127.0.0.1:1/')).toMatch(
      /https:\/\/127\.0\.0\.1:1\/ cannot be used: .*loopback.*ACTA_UPSTREAM_ALLOW_PRIVATE/,
    );
    expect(await refused('http://agent.example/')).toMatch(/must be an https URL/);
    expect(await refused('http://127.0.0.1:1/', true)).toMatch(
      /http:\/\/127\.0\.0\.1:1\/ cannot be used: .*ECONNREFUSED/,
    );
  });
});

/** Stands before a server, and loses the first answer when it is told to. */
class LossyProxy {
  swallow = false;
  swallowed = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(target: string): Promise<LossyProxy> {
    const { hostname, port } = new URL(target);
    const proxy: LossyProxy = new LossyProxy(
      createServer((socket) => {
        const swallow = proxy.swallow;
        proxy.swallow = false;
        const onward = dial(Number(port), hostname);
        for (const end of [socket, onward]) {
          proxy.sockets.add(end);
          end.on('error', () => undefined);
        }
        socket.pipe(onward);
        if (!swallow) onward.pipe(socket);
        else {
          onward.once('data', () => {
            proxy.swallowed += 1;
            socket.destroy();
          });
          onward.resume();
        }
        socket.once('close', () => (swallow ? undefined : onward.destroy()));
        onward.once('close', () => socket.destroy());
      }),
    );
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
