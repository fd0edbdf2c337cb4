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

const TIMING = { giveUpAfterMs: 10_000, backoffMs: 20, maxBackoffMs: 200 };
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
] as const)('UpstreamTurn with an agent of A2A $VERSION (streaming: $STREAMING)', (setup) => {
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

  it('records every chunk of the work in order', async () => {
    const view = await send('report chunks 5 every 120');
    expect([view.state.status, artifactText(view)]).toEqual(['completed', ['0 1 2 3 4 ']]);
    expect(textOf(view.statusMessage!)).toBe('done');
    const { tasks } = await upstream.state();
    const upstreamTask = tasks.find(({ id }) => id === view.state.upstream?.taskId);
    expect(upstreamTask?.contextId).toBe(view.state.upstream?.contextId);
    const recorded = await events(view.taskId);
    expect(recorded.find((event) => event.type === 'StatusReported')?.facts).toMatchObject({
      upstream: view.state.upstream,
    });
    const chunks = recorded.flatMap((event) => (event.type === 'ArtifactPublished' ? [event] : []));
    // Chunks that arrive within 100 ms become one, so the number depends on the timing.
    if (setup.STREAMING === 'true') expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.slice(1).every(({ facts }) => facts.append || setup.STREAMING === 'false')).toBe(true);
    // A poll does not tell whether a chunk is the last one, unless it is also the poll that sees the end of the task.
    if (setup.STREAMING === 'true') expect(chunks.at(-1)!.facts.last).toBe(true);
  });

  it('ends the task with the outcome of the upstream task', async () => {
    const failed = await send('fail');
    expect([failed.state.status, textOf(failed.statusMessage!)]).toEqual(['failed', 'The text contains `fail`.']);
    const rejected = await send('reject');
    expect([rejected.state.status, textOf(rejected.statusMessage!)]).toEqual([
      'rejected',
      'The text contains `reject`.',
    ]);
  });

  it('records a direct message response', async () => {
    const view = await send('reply');
    expect([view.state.status, textOf(view.statusMessage!)]).toEqual(['replied', named('reply').toUpperCase()]);
  });

  it('continues the same upstream task, and its artifacts of earlier turns, after a request for input', async () => {
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

  it('records a request for authorization', async () => {
    const view = await send('auth');
    expect([view.state.status, textOf(view.statusMessage!)]).toEqual(['auth-required', 'sign in']);
  });

  it('cancels the upstream task when the client cancels', async () => {
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

  it('cancels the upstream task when the client cancels between two turns', async () => {
    const { taskId, state } = await send('then ask');
    expect((await replica.cancel(alice, taskId)).state.status).toBe('canceled');
    const upstreamTask = async () => (await upstream.state()).tasks.find(({ id }) => id === state.upstream!.taskId)!;
    await eventually(upstreamTask, ({ status }) => status.state === 5);
  });

  // F14
  it('fails the task as an invalid agent response for a chunk of an artifact that was never started', async () => {
    const view = await send('unstarted');
    if (setup.STREAMING === 'false') return expect(view.state.status).toBe('completed');
    expect(view.state.status).toBe('failed');
    expect((await events(view.taskId)).at(-1)).toMatchObject({ facts: { reason: 'invalid-agent-response' } });
    return undefined;
  });

  it('continues the same upstream task after the agent was killed and restarted', async () => {
    const taskId = await replica.submit(alice, named('killed chunks 500 every 20'));
    await replica.until(alice.tenantId, taskId, (state) => (state.run?.artifacts.length ?? 0) > 0);
    await upstream.kill();
    await upstream.restart();
    const { upstream: upstreamTask, run } = await replica.until(
      alice.tenantId,
      taskId,
      ({ status }) => status === 'completed',
    );
    expect(artifactText(await replica.get(alice, taskId))).toEqual(['completed after restart']);
    expect(run?.attempt).toBe(1);
    const { calls } = await upstream.state();
    expect(calls.filter((call) => call.taskId === upstreamTask!.taskId)).toHaveLength(1);
  });

  it('continues the same upstream task in the next attempt when the agent is unreachable for too long', async () => {
    const strict = await acta.replica({
      agents: [
        await upstreamAgent(
          { url: upstream.url },
          { allowPrivate: true, timing: { ...TIMING, giveUpAfterMs: 100 } },
          { name: `strict-${setup.VERSION}-${setup.STREAMING}`, retry: { attempts: 20, backoffMs: 300 } },
        ),
      ],
    });
    const taskId = await strict.submit(alice, named('chunks 400 every 20'));
    await strict.until(alice.tenantId, taskId, (state) => (state.run?.artifacts.length ?? 0) > 0);
    await upstream.kill();
    await strict.until(alice.tenantId, taskId, (state) => state.attempts > 1 || state.run?.outcome === 'lost');
    await upstream.restart();
    const { upstream: upstreamTask } = await strict.until(
      alice.tenantId,
      taskId,
      ({ status }) => status === 'completed',
    );
    expect(artifactText(await strict.get(alice, taskId))).toEqual(['completed after restart']);
    const { calls } = await upstream.state();
    expect(calls.filter((call) => call.taskId === upstreamTask!.taskId)).toHaveLength(1);
    await strict.close();
  });
});

describe('UpstreamTurn', () => {
  it('forwards a message that arrives during the run to the upstream task', async () => {
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

  // A2A 1.0 can list tasks by context, so the message is not sent twice.
  it.each([
    { run: 'the same run', giveUpAfterMs: TIMING.giveUpAfterMs },
    { run: 'the next run', giveUpAfterMs: 0 },
  ])(
    'finds the upstream task by its context in $run if the response to the send was lost',
    async ({ run, giveUpAfterMs }) => {
      const upstream = await Upstream.start();
      const proxy = await LossyProxy.start(upstream.url);
      const behindProxy = await Upstream.start({ CARD_URL: proxy.url });
      const timing = { ...TIMING, giveUpAfterMs };
      const own = { name: `lossy-${giveUpAfterMs}`, retry: { attempts: 5, backoffMs: 100 } };
      const lossy = await upstreamAgent({ url: behindProxy.url }, { allowPrivate: true, timing }, own);
      const replica = await acta.replica({ agents: [lossy] });
      proxy.loseNext = true;
      const taskId = await replica.submit(alice, `${run} chunks 3 every 300`);
      await replica.until(alice.tenantId, taskId, ({ status }) => status === 'completed');
      expect(proxy.lostCount).toBe(1);
      const runs = (await replica.events(alice.tenantId, taskId)).filter(({ type }) => type === 'RunStarted');
      expect(runs).toHaveLength(giveUpAfterMs > 0 ? 1 : 2);
      expect(artifactText(await replica.get(alice, taskId))).toEqual(['0 1 2 ']);
      expect((await upstream.state()).calls).toHaveLength(1);
      await replica.close();
      await proxy.close();
      await upstream.kill();
      await behindProxy.kill();
    },
  );
});

describe('upstreamAgent', () => {
  it('rejects a private address unless private addresses are allowed, also if a card names it', async () => {
    const errorFor = (url: string, allowPrivate = false) =>
      upstreamAgent({ url }, { allowPrivate }).then(
        () => null,
        (error: Error) => error.message,
      );
    expect(await errorFor('https://127.0.0.1:1/')).toMatch(
      /https:\/\/127\.0\.0\.1:1\/ cannot be used: .*loopback.*ACTA_UPSTREAM_ALLOW_PRIVATE/,
    );
    expect(await errorFor('http://agent.example/')).toMatch(/must be an https URL/);
    expect(await errorFor('http://127.0.0.1:1/', true)).toMatch(
      /http:\/\/127\.0\.0\.1:1\/ cannot be used: .*ECONNREFUSED/,
    );
  });
});

/** A proxy that drops the next response when `loseNext` is set. */
class LossyProxy {
  loseNext = false;
  lostCount = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(targetUrl: string): Promise<LossyProxy> {
    const { hostname, port } = new URL(targetUrl);
    const proxy: LossyProxy = new LossyProxy(
      createServer((socket) => {
        const { loseNext } = proxy;
        proxy.loseNext = false;
        const target = dial(Number(port), hostname);
        for (const end of [socket, target]) {
          proxy.sockets.add(end);
          end.on('error', () => undefined);
        }
        socket.pipe(target);
        if (!loseNext) target.pipe(socket);
        else {
          target.once('data', () => {
            proxy.lostCount += 1;
            socket.destroy();
          });
          target.resume();
        }
        socket.once('close', () => (loseNext ? undefined : target.destroy()));
        target.once('close', () => socket.destroy());
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
