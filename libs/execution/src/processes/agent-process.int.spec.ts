import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';

const MODULE = fileURLToPath(new URL('../../../../test/support/agents/misbehaving.agent.mjs', import.meta.url));
const alice = aMember('alice');

let acta: Acta;
let replica: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agentModules: { entries: [MODULE] } });
});
afterAll(() => acta?.close());

const until = (taskId: string, status: string) =>
  replica.until(alice.tenantId, taskId, (state) => state.status === status);
const typesOf = async (taskId: string) => (await replica.events(alice.tenantId, taskId)).map(({ type }) => type);
const outcomeOf = async (taskId: string) => {
  const { statusMessage } = await replica.get(alice, taskId);
  return textOf(statusMessage!);
};

describe('A process that does not respond for a while', () => {
  it('gives back the runs that it has not started, and each of them starts once, later', async () => {
    const blocking = await replica.submit(alice, aMessage('block 3000'));
    await replica.until(alice.tenantId, blocking, ({ statusMessage }) => statusMessage !== null);
    // The process blocks soon after its status. Some of these runs reach it before, and some of them later.
    const others: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      others.push(await replica.submit(alice, aMessage(`count ${n}`)));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    for (const taskId of [blocking, ...others]) await until(taskId, 'completed');
    expect(await outcomeOf(blocking)).toBe('unblocked');
    expect(await typesOf(blocking)).not.toContain('RunLost');
    const starts = await Promise.all(others.map(outcomeOf));
    expect(starts.toSorted()).toEqual(others.map((_, index) => `start ${index + 1}`));
    const lost = (await Promise.all(others.map((taskId) => replica.events(alice.tenantId, taskId))))
      .flat()
      .filter(({ type }) => type === 'RunLost');
    expect(lost.length).toBeGreaterThan(0);
    for (const { facts } of lost) {
      expect(facts).toMatchObject({ reason: 'released', cause: 'the agent process did not respond' });
    }
  });
});

describe('A process that breaks the protocol', () => {
  it.each([
    ['text', 'no json'],
    ['an unknown type', '{"type":"surprise"}'],
    ['null', 'null'],
    ['an output that only Acta decides', '{"type":"output","run":"RUN","output":{"type":"lost"}}'],
    ['an artifact without parts', '{"type":"output","run":"RUN","output":{"type":"artifact","artifactId":"a"}}'],
    ['a message that is no object', '{"type":"output","run":"RUN","output":{"type":"complete","message":1}}'],
    ['an output that is no object', '{"type":"output","run":"RUN","output":7}'],
    ['runs that are no list', '{"type":"started","runs":5}'],
  ])('is killed if it sends %s, and its run is an attempt', async (_title, line) => {
    const taskId = await replica.submit(alice, aMessage(`write ${line}`));
    await until(taskId, 'failed');
    expect(await outcomeOf(taskId)).toMatch(/^the only attempt was lost: agent process broke the protocol: /);
  });

  it('has no effect on other runs if it names a run that does not exist', async () => {
    const line = '{"type":"end","run":"another"}';
    const taskId = await replica.submit(alice, aMessage(`write ${line}`));
    await until(taskId, 'working');
    expect(await replica.cancel(alice, taskId)).toMatchObject({ state: { status: 'canceled' } });
  });
});
