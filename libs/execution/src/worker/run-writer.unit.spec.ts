import { expect, it } from '@jest/globals';
import { DomainError, evolveAll } from '@app/domain';
import { ServerSecret, type StreamHead } from '@app/storage';
import type { TaskWriter } from '@app/tasks';
import { FENCE, SUBMITTED } from '../../../../test/support/tasks.js';
import { RunWriter } from './run-writer.js';

const state = evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!;
const head: StreamHead = { state, hash: Buffer.alloc(32), key: null };

function writerOn(apply: TaskWriter['apply'], lease: { held: boolean }) {
  const fenced: Error[] = [];
  const writer = new RunWriter(
    { apply } as TaskWriter,
    new ServerSecret('a secret'),
    { tenantId: 'acme', taskId: 'task-1' },
    'demo',
    FENCE,
    head,
    () => lease.held,
    (error) => fenced.push(error),
  );
  return { writer, fenced };
}

it('goes on trying while the database is away, under the same sequence number, as long as the lease holds', async () => {
  const seqs: unknown[] = [];
  const { writer } = writerOn(
    async (_, command) => {
      seqs.push(command.type === 'RecordRun' && command.seq);
      if (seqs.length < 3) throw new Error('Connection terminated unexpectedly');
      return { outcome: 'applied', head, events: [] };
    },
    { held: true },
  );
  await writer.write({ type: 'complete' });
  expect(seqs).toEqual([1, 1, 1]);
});

it('takes a run for lost, and not for failed, when its lease ended while the database was away', async () => {
  const lease = { held: true };
  const { writer, fenced } = writerOn(async () => {
    lease.held = false;
    throw new Error('Connection terminated unexpectedly');
  }, lease);
  const error = await writer.write({ type: 'complete' }).catch((thrown: unknown) => thrown);
  expect(DomainError.is(error, 'Fenced')).toBe(true);
  expect(fenced).toEqual([error]);
});

it('concludes with its outcome, also when a write that was under way fails only then', async () => {
  let fail = (_error: Error) => {};
  const written: unknown[] = [];
  const { writer } = writerOn(
    (_, command) => {
      if (command.type === 'RecordRun') written.push(command.outputs.map(({ type }) => type));
      if (written.length === 1) return new Promise((_resolve, reject) => (fail = reject));
      return Promise.resolve({ outcome: 'applied', head, events: [] });
    },
    { held: true },
  );
  const artifact = { parts: [{ text: 'x' }] };
  await writer.write({ type: 'artifact', artifactId: 'a', artifact, append: true, last: false });
  const flushed = writer.flush().catch((error: unknown) => error);
  const concluded = writer.conclude({ type: 'fail', invalid: true });
  const refused = new DomainError('InvalidAgentResponse', 'never started', { taskId: 'task-1' });
  fail(refused);
  await concluded;
  expect(written).toEqual([['artifact'], ['fail']]);
  await flushed;
});
