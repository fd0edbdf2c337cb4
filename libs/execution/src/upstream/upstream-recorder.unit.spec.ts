import { describe, expect, it } from '@jest/globals';
import type { UpstreamTaskSnapshot } from '@app/client';
import type { ArtifactView } from '@app/domain';
import type { AgentContext } from '../agents/agent.contract.js';
import { UpstreamRecorder } from './upstream-recorder.js';

/** Returns a recorder, and the outputs that it has recorded. */
function createRecorder() {
  const outputs: unknown[] = [];
  const ctx = {
    task: { id: 'task' },
    artifact: async (artifact: unknown) => void outputs.push(artifact),
    working: async (message?: unknown) => void outputs.push(['working', message]),
    cancel: async () => void outputs.push('canceled'),
  } as unknown as AgentContext;
  return { recorder: new UpstreamRecorder(ctx), outputs };
}

const artifactOf = (...texts: string[]): ArtifactView => ({ artifactId: 'a', parts: texts.map((text) => ({ text })) });
const chunk = (text: string, append: boolean) =>
  ({ type: 'artifact', ids: { taskId: 't' }, artifact: artifactOf(text), append, last: false }) as const;
const snapshot = (artifact: ArtifactView): UpstreamTaskSnapshot => ({
  taskId: 't',
  status: { state: 'working', timestamp: 'now' },
  artifacts: [artifact],
  messageIds: [],
});

describe('UpstreamRecorder', () => {
  it('publishes an artifact of a snapshot only if its content differs, regardless of its chunks', async () => {
    const { recorder, outputs } = createRecorder();
    await recorder.chunk(chunk('one ', false));
    await recorder.chunk(chunk('two', true));
    await recorder.task(snapshot(artifactOf('one two')));
    await recorder.task(snapshot(artifactOf('one ', 'two')));
    expect(outputs).toHaveLength(3);
    await recorder.task(snapshot(artifactOf('one two three')));
    expect(outputs.at(-1)).toMatchObject({ id: 'a', parts: [{ text: 'one two three' }], append: false });
    await recorder.task(snapshot({ ...artifactOf('one two three'), name: 'named' }));
    expect(outputs).toHaveLength(5);
  });

  it('records a status once, even if the agent returns it several times', async () => {
    const { recorder, outputs } = createRecorder();
    for (let time = 0; time < 3; time += 1) await recorder.status({ state: 'working', timestamp: 'now' });
    expect(outputs).toEqual([['working', undefined]]);
    await recorder.status({ state: 'working', timestamp: 'later' });
    expect(outputs).toHaveLength(2);
  });

  it('publishes the artifact of an earlier turn again before a chunk that appends to it', async () => {
    const { recorder, outputs } = createRecorder();
    recorder.setBaseline([artifactOf('before ')]);
    await recorder.chunk(chunk('and after', true));
    expect(outputs).toEqual([
      { id: 'a', parts: [{ text: 'before ' }], append: false, last: false },
      { id: 'a', parts: [{ text: 'and after' }], append: true, last: false },
    ]);
  });

  // F14
  it('rejects a chunk for an artifact that was never started as an invalid response', async () => {
    const { recorder, outputs } = createRecorder();
    await expect(recorder.chunk(chunk('x', true))).rejects.toMatchObject({ kind: 'InvalidAgentResponse' });
    expect(outputs).toEqual([]);
  });

  it('records an outcome only when it is concluded', async () => {
    const { recorder, outputs } = createRecorder();
    await recorder.status({ state: 'canceled' });
    expect([recorder.outcome, outputs]).toEqual([{ state: 'canceled' }, []]);
    await recorder.recordOutcome();
    expect(outputs).toEqual(['canceled']);
  });
});
