import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, encodedBytes, type RunOutput } from '@app/domain';
import { newInternalCommand } from '@app/tasks';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const TOKENS = Array.from({ length: 5_000 }, (_, n) => `token ${n} `);
const TEXT = TOKENS.join('');

const agent = new ScriptedAgent();
let acta: Acta;
let replica: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agents: [agent.definition] });
});
afterAll(() => acta?.close());

async function published(taskId: string) {
  const events = await replica.events(alice.tenantId, taskId);
  return events.filter((event) => event.type === 'ArtifactPublished');
}

async function textOfArtifact(taskId: string): Promise<string | undefined> {
  const { artifacts } = await replica.get(alice, taskId);
  expect(artifacts).toHaveLength(1);
  expect(artifacts[0]!.parts).toHaveLength(1);
  return artifacts[0]!.parts[0]!.text;
}

describe('RunWriter', () => {
  // F13
  it('writes a burst of 5,000 tokens as fewer than 50 events, complete and in order', async () => {
    agent.on('burst', async (ctx) => {
      for (const text of TOKENS) await ctx.artifact({ parts: [{ text }] });
    });
    const { taskId } = await replica.sendAndWait(alice, 'burst');
    expect(await textOfArtifact(taskId)).toBe(TEXT);
    expect((await published(taskId)).length).toBeLessThan(50);
  });

  // F13
  it('writes the first of 5,000 single tokens before the second exists, and collects the others in few events', async () => {
    const shown = new Latch();
    let elapsedMs = 0;
    agent.on('one by one', async (ctx) => {
      await ctx.artifact({ parts: [{ text: TOKENS[0]! }] });
      await shown.opened;
      const start = performance.now();
      for (const text of TOKENS.slice(1)) {
        await ctx.artifact({ parts: [{ text }] });
        await new Promise(setImmediate);
      }
      elapsedMs = performance.now() - start;
    });
    const { taskId, follower } = await replica.send(alice, 'one by one');
    await replica.until(alice.tenantId, taskId, (state) => state.run?.artifacts.length === 1);
    // There is no second token yet, so the first one did not wait for it.
    expect(await textOfArtifact(taskId)).toBe(TOKENS[0]);
    shown.open();
    await follower.untilOutcome();
    expect(await textOfArtifact(taskId)).toBe(TEXT);
    const events = await published(taskId);
    // One event for each 100 ms, one for each 16 KiB of chunks, the first and the last.
    const bytes = encodedBytes(TOKENS.map((text) => ({ parts: [{ text }] })));
    expect(events.length).toBeLessThanOrEqual(elapsedMs / 100 + bytes / (16 * 1_024) + 2);
    expect(events.length).toBeGreaterThan(2);
  });

  it('writes the collected tokens when the agent pauses', async () => {
    const seen = new Latch();
    agent.on('pauses', async (ctx) => {
      await ctx.artifact({ parts: [{ text: 'a' }] });
      await ctx.artifact({ parts: [{ text: 'b' }] });
      await ctx.artifact({ parts: [{ text: 'c' }] });
      await seen.opened;
    });
    const { taskId, follower } = await replica.send(alice, 'pauses');
    let text: string | undefined;
    while (text !== 'abc') {
      await replica.until(alice.tenantId, taskId, (state) => state.run?.artifacts.length === 1);
      text = await textOfArtifact(taskId);
    }
    seen.open();
    await follower.untilOutcome();
  });

  it('keeps names, data and several artifacts in the order of their outputs', async () => {
    agent.on('mixed', async (ctx) => {
      await ctx.artifact({ id: 'a', name: 'A', parts: [{ text: '1' }] });
      await ctx.artifact({ id: 'a', parts: [{ text: '2' }, { data: { n: 3 } }] });
      await ctx.artifact({ id: 'b', parts: [{ text: 'other' }] });
      await ctx.artifact({ id: 'a', parts: [{ text: '4' }] });
      await ctx.artifact({ id: 'b', append: false, parts: [{ text: 'replaced' }] });
      await ctx.artifact({ id: 'a', parts: [{ text: '5' }], last: true });
    });
    const { taskId } = await replica.sendAndWait(alice, 'mixed');
    expect((await replica.get(alice, taskId)).artifacts).toEqual([
      { artifactId: 'a', name: 'A', parts: [{ text: '12' }, { data: { n: 3 } }, { text: '45' }] },
      { artifactId: 'b', parts: [{ text: 'replaced' }] },
    ]);
  });
});

describe('A write of a run', () => {
  const chunk: RunOutput = {
    type: 'artifact',
    artifactId: 'never started',
    artifact: { parts: [{ text: 'x' }] },
    append: true,
    last: false,
  };

  /** Starts a run whose agent waits, and returns a function that writes in its place. */
  async function startWaitingRun(text: string) {
    const gate = new Latch();
    const started = new Latch();
    agent.on(text, (ctx) => {
      started.open();
      return gate.opened.then(() => ctx.complete());
    });
    const { taskId, follower } = await replica.send(alice, text);
    await started.opened;
    const head = (await replica.log.head(alice.tenantId, taskId))!;
    const { id: runId, leaseGeneration, dispatcherGeneration } = head.state.run!;
    const fence = { runId, leaseGeneration, dispatcherGeneration };
    const write = (seq: number, outputs: RunOutput[], commandId = newInternalCommand('test').commandId) =>
      replica.writer.apply(
        {
          tenantId: alice.tenantId,
          taskId,
          actor: { subject: 'remote', role: 'worker' },
          commandId,
          fingerprint: Buffer.alloc(32),
          fence,
        },
        { type: 'RecordRun', fence, seq, readThrough: 2, outputs },
      );
    const end = async () => {
      gate.open();
      return (await follower.untilOutcome()).status;
    };
    return { taskId, write, end };
  }

  // F14, first half
  it('is rejected for a chunk of an artifact that was never started, and the task stays readable', async () => {
    const { taskId, write, end } = await startWaitingRun('wire chunk');
    const error = await write(1, [chunk]).catch((thrown: unknown) => thrown);
    expect(DomainError.is(error, 'InvalidAgentResponse')).toBe(true);
    expect(await published(taskId)).toEqual([]);
    expect(await end()).toBe('completed');
    expect((await replica.get(alice, taskId)).artifacts).toEqual([]);
  });

  it('adds nothing when it is repeated', async () => {
    const { taskId, write, end } = await startWaitingRun('repeated');
    // The run has used no sequence number yet, so the test writes in its place.
    const outputs: RunOutput[] = [{ ...chunk, append: false } as RunOutput];
    for (let n = 0; n < 3; n += 1) await write(1, outputs, 'the same command');
    expect(await published(taskId)).toHaveLength(1);
    await write(2, [{ type: 'complete' }]);
    await end();
    const ends = (await replica.events(alice.tenantId, taskId)).filter(({ type }) => type === 'TaskCompleted');
    expect(ends).toHaveLength(1);
  });
});
