import { describe, expect, it } from '@jest/globals';
import { DomainError, evolveAll } from '@app/domain';
import type { TaskHead } from '@app/storage';
import type { TaskWriter } from '@app/tasks';
import { aServerKeys, FENCE, SUBMITTED } from '../../../../test/support/tasks.js';
import { RunWriter } from './run-writer.js';

const state = evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!;
const head: TaskHead = { state, hash: Buffer.alloc(32), key: null };

function createRunWriter(apply: TaskWriter['apply'], lease = { remains: true }) {
  const fencedErrors: Error[] = [];
  const runWriter = new RunWriter(
    { writer: { apply }, database: { keys: aServerKeys() } },
    { tenantId: 'acme', taskId: 'task-1', agent: 'demo', fence: FENCE, head },
    { isHeld: () => lease.remains, onFenced: (error) => fencedErrors.push(error) },
  );
  return { runWriter, fencedErrors };
}

describe('RunWriter', () => {
  it('repeats a write under the same sequence number while the database is unavailable and the lease lasts', async () => {
    const seqs: unknown[] = [];
    const { runWriter } = createRunWriter(async (_, command) => {
      seqs.push(command.type === 'RecordRun' && command.seq);
      if (seqs.length < 3) throw new Error('Connection terminated unexpectedly');
      return { outcome: 'applied', head, events: [] };
    });
    await runWriter.write({ type: 'complete' });
    expect(seqs).toEqual([1, 1, 1]);
  });

  it('reports the run as fenced, and not as failed, when the lease ends while the database is unavailable', async () => {
    const lease = { remains: true };
    const { runWriter, fencedErrors } = createRunWriter(async () => {
      lease.remains = false;
      throw new Error('Connection terminated unexpectedly');
    }, lease);
    const error = await runWriter.write({ type: 'complete' }).catch((thrown: unknown) => thrown);
    expect(DomainError.is(error, 'Fenced')).toBe(true);
    expect(fencedErrors).toEqual([error]);
  });

  it('concludes with its outcome, even if a write that has started fails after that', async () => {
    let fail = (_error: Error) => {};
    const written: unknown[] = [];
    const { runWriter } = createRunWriter((_, command) => {
      if (command.type === 'RecordRun') written.push(command.outputs.map(({ type }) => type));
      if (written.length === 1) return new Promise((_resolve, reject) => (fail = reject));
      return Promise.resolve({ outcome: 'applied', head, events: [] });
    });
    const artifact = { parts: [{ text: 'x' }] };
    await runWriter.write({ type: 'artifact', artifactId: 'a', artifact, append: true, last: false });
    const flushed = runWriter.flush().catch((error: unknown) => error);
    const concluded = runWriter.recordOutcome({ type: 'fail', invalid: true });
    fail(new DomainError('InvalidAgentResponse', 'never started', { taskId: 'task-1' }));
    await concluded;
    expect(written).toEqual([['artifact'], ['fail']]);
    await flushed;
  });
});
