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

describe('a stream of tokens', () => {
  // F13
  it('that comes as a burst makes a few dozen events, complete and in order', async () => {
    agent.on('burst', async (ctx) => {
      for (const text of TOKENS) await ctx.artifact({ parts: [{ text }] });
    });
    const { taskId } = await replica.sendAndWait(alice, 'burst');
    expect(await textOfArtifact(taskId)).toBe(TEXT);
    expect((await published(taskId)).length).toBeLessThan(50);
  });

  // F13
  it('that comes one by one shows its first before there is a second, and makes few events of the rest', async () => {
    const shown = new Latch();
    let took = 0;
    agent.on('one by one', async (ctx) => {
      await ctx.artifact({ parts: [{ text: TOKENS[0]! }] });
      await shown.opened;
      const from = performance.now();
      for (const text of TOKENS.slice(1)) {
        await ctx.artifact({ parts: [{ text }] });
        await new Promise(setImmediate);
      }
      took = performance.now() - from;
    });
    const { taskId, follower } = await replica.send(alice, 'one by one');
    await replica.until(alice.tenantId, taskId, (state) => state.run?.artifacts.length === 1);
    // Nothing else was said, so the first did not wait to be joined by a second.
    expect(await textOfArtifact(taskId)).toBe(TOKENS[0]);
    shown.open();
    await follower.untilOutcome();
    expect(await textOfArtifact(taskId)).toBe(TEXT);
    const events = await published(taskId);
    // One for each 100 ms, one for each 16 KiB of chunks, the first and the last.
    const bytes = encodedBytes(TOKENS.map((text) => ({ parts: [{ text }] })));
    expect(events.length).toBeLessThanOrEqual(took / 100 + bytes / (16 * 1_024) + 2);
    expect(events.length).toBeGreaterThan(2);
  });

  it('that pauses is shown up to the pause', async () => {
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

  it('keeps names, data and other artifacts in the order in which they were said', async () => {
    agent.on('mixed', async (ctx) => {
      await ctx.artifact({ id: 'a', name: 'A', parts: [{ text: '1' }] });
      await ctx.artifact({ id: 'a', parts: [{ text: '2' }, { data: { n: 3 } }] });
      await ctx.artifact({ id: 'b', parts: [{ text: 'other' }] });
      await ctx.artifact({ id: 'a', parts: [{ text: '4' }] });
      await ctx.artifact({ id: 'b', append: false, parts: [{ text: 'anew' }] });
      await ctx.artifact({ id: 'a', parts: [{ text: '5' }], last: true });
    });
    const { taskId } = await replica.sendAndWait(alice, 'mixed');
    expect((await replica.get(alice, taskId)).artifacts).toEqual([
      { artifactId: 'a', name: 'A', parts: [{ text: '12' }, { data: { n: 3 } }, { text: '45' }] },
      { artifactId: 'b', parts: [{ text: 'anew' }] },
    ]);
  });
});

describe('a write of a run', () => {
  const chunk: RunOutput = {
    type: 'artifact',
    artifactId: 'never started',
    artifact: { parts: [{ text: 'x' }] },
    append: true,
    last: false,
  };

  async function held(text: string) {
    const latch = new Latch();
    const started = new Latch();
    agent.on(text, (ctx) => {
      started.open();
      return latch.opened.then(() => ctx.complete());
    });
    const { taskId, follower } = await replica.send(alice, text);
    await started.opened;
    const { head } = (await replica.log.head(alice.tenantId, taskId))!;
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
      latch.open();
      return (await follower.untilOutcome()).status;
    };
    return { taskId, write, end };
  }

  // F14, first half
  it('for an artifact that was never started is refused, and the record stays readable', async () => {
    const { taskId, write, end } = await held('wire chunk');
    const refused = await write(1, [chunk]).catch((error: unknown) => error);
    expect(DomainError.is(refused, 'InvalidAgentResponse')).toBe(true);
    expect(await published(taskId)).toEqual([]);
    expect(await end()).toBe('completed');
    expect((await replica.get(alice, taskId)).artifacts).toEqual([]);
  });

  it('that is repeated after a lost answer adds nothing', async () => {
    const { taskId, write, end } = await held('repeated');
    // A sequence number of its own run's writer is not used up yet: this test writes in its place.
    const outputs: RunOutput[] = [{ ...chunk, append: false } as RunOutput];
    for (let n = 0; n < 3; n += 1) await write(1, outputs, 'the same command');
    expect(await published(taskId)).toHaveLength(1);
    await write(2, [{ type: 'complete' }]);
    await end();
    const ends = (await replica.events(alice.tenantId, taskId)).filter(({ type }) => type === 'TaskCompleted');
    expect(ends).toHaveLength(1);
  });
});
