import { expect, it } from '@jest/globals';
import type { UpstreamTaskSnapshot } from '@app/client';
import type { ArtifactView } from '@app/domain';
import type { AgentContext } from '../agents/agent.contract.js';
import { UpstreamMirror } from './upstream-mirror.js';

/** A mirror, and what it has said to its run. */
function aMirror() {
  const said: unknown[] = [];
  const ctx = {
    task: { id: 'task' },
    artifact: async (artifact: unknown) => void said.push(artifact),
    working: async (message?: unknown) => void said.push(['working', message]),
    cancel: async () => void said.push('canceled'),
  } as unknown as AgentContext;
  return { mirror: new UpstreamMirror(ctx), said };
}

const texts = (...parts: string[]): ArtifactView => ({ artifactId: 'a', parts: parts.map((text) => ({ text })) });
const chunk = (text: string, append: boolean) =>
  ({ type: 'artifact', ids: { taskId: 't' }, artifact: texts(text), append, last: false }) as const;
const snapshot = (artifact: ArtifactView): UpstreamTaskSnapshot => ({
  taskId: 't',
  status: { state: 'working', timestamp: 'now' },
  artifacts: [artifact],
  messageIds: [],
});

it('publishes of a snapshot what differs from what was published, however that was cut', async () => {
  const { mirror, said } = aMirror();
  await mirror.chunk(chunk('one ', false));
  await mirror.chunk(chunk('two', true));
  await mirror.task(snapshot(texts('one two')));
  await mirror.task(snapshot(texts('one ', 'two')));
  expect(said).toHaveLength(3);
  await mirror.task(snapshot(texts('one two three')));
  expect(said.at(-1)).toMatchObject({ id: 'a', parts: [{ text: 'one two three' }], append: false });
  await mirror.task(snapshot({ ...texts('one two three'), name: 'named' }));
  expect(said).toHaveLength(5);
});

it('says a status once, however often the agent is asked for it', async () => {
  const { mirror, said } = aMirror();
  for (let time = 0; time < 3; time += 1) await mirror.status({ state: 'working', timestamp: 'now' });
  expect(said).toEqual([['working', undefined]]);
  await mirror.status({ state: 'working', timestamp: 'later' });
  expect(said).toHaveLength(2);
});

it('goes on an artifact of an earlier turn from where that left it', async () => {
  const { mirror, said } = aMirror();
  mirror.knows([texts('before ')]);
  await mirror.chunk(chunk('and after', true));
  expect(said).toEqual([
    { id: 'a', parts: [{ text: 'before ' }], append: false, last: false },
    { id: 'a', parts: [{ text: 'and after' }], append: true, last: false },
  ]);
});

// F14
it('takes a chunk for an artifact that was never started for an invalid response', async () => {
  const { mirror, said } = aMirror();
  await expect(mirror.chunk(chunk('x', true))).rejects.toMatchObject({ kind: 'InvalidAgentResponse' });
  expect(said).toEqual([]);
});

it('keeps an outcome until it is concluded', async () => {
  const { mirror, said } = aMirror();
  await mirror.status({ state: 'canceled' });
  expect([mirror.outcome, said]).toEqual([{ state: 'canceled' }, []]);
  await mirror.conclude();
  expect(said).toEqual(['canceled']);
});
