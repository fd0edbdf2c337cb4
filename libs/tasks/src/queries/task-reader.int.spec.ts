import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activeRun,
  BOUNDS,
  decide,
  type Message,
  type Part,
  type RunOutput,
  TaskFold,
  type TaskView,
  viewBytes,
} from '@app/domain';
import { EventLog } from '@app/event-log';
import { Database, EventDecoder, ServerSecret, TaskWakeups } from '@app/storage';
import fc from 'fast-check';
import { addMessage, RETRY, SUBMIT } from '../../../../test/support/tasks.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { TaskReader } from './task-reader.js';
import { newInternalCommandId, TaskWriter } from '../commands/task-writer.js';

const TENANT = 'acme';
const SECRET = 'a secret of the reader tests, long enough';
const KiB = 1024;

let testDatabase: TestDatabase;
let database: Database;
let log: EventLog;
let decoder: EventDecoder;
let reader: TaskReader;
let writer: TaskWriter;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url, { maxConnections: 4 });
  const secret = new ServerSecret(SECRET);
  await database.initializeServerState(secret);
  decoder = new EventDecoder(secret);
  log = new EventLog(database, secret, decoder);
  reader = new TaskReader(database, decoder, log);
  writer = new TaskWriter(log, new TaskWakeups(database), { leaseMs: 30_000 });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const apply = (taskId: string, command: Parameters<typeof decide>[2]) =>
  writer.apply(
    {
      tenantId: TENANT,
      taskId,
      actor: { subject: 'alice', role: 'member' },
      commandId: newInternalCommandId('test'),
      fingerprint: Buffer.alloc(32),
    },
    command,
    command.type === 'SubmitTask' ? null : undefined,
  );

/** Creates a task and applies the steps in order. A `write` step without an active run claims the next run instead. */
async function aTask(steps: readonly Step[]): Promise<string> {
  const taskId = randomUUID();
  await apply(taskId, { ...SUBMIT, claim: { runId: `${taskId}-1`, worker: 'worker' } });
  let runs = 1;
  let seq = 0;
  for (const step of steps) {
    const { state } = (await log.head(TENANT, taskId))!;
    const run = activeRun(state);
    if (step.type === 'message') await apply(taskId, addMessage(step.message));
    else if (run === null) {
      runs += 1;
      seq = 0;
      await apply(taskId, { type: 'ClaimRun', claim: { runId: `${taskId}-${runs}`, worker: 'worker' } });
    } else {
      seq += 1;
      const started = run.artifacts;
      const outputs = step.outputs.map((output) =>
        output.type === 'artifact'
          ? { ...output, append: output.append && started.includes(output.artifactId) }
          : output,
      );
      const { leaseGeneration, dispatcherGeneration } = run;
      const fence = { runId: run.id, leaseGeneration, dispatcherGeneration };
      await apply(taskId, { type: 'RecordRun', fence, seq, readThrough: state.version, outputs });
    }
  }
  return taskId;
}

type Step =
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'write'; readonly outputs: readonly RunOutput[] };

async function foldOf(taskId: string): Promise<TaskFold> {
  const fold = new TaskFold(TENANT, taskId);
  for (const event of await log.read(TENANT, taskId, 0, 10_000)) fold.add(event);
  return fold;
}

const parts = fc.array(
  fc.oneof(
    fc.constantFrom(1, 10, 300, 900).map((size): Part => ({ text: 't'.repeat(size * KiB) })),
    fc.integer({ max: 9 }).map((data): Part => ({ data })),
  ),
  { minLength: 1, maxLength: 3 },
);
const message = (role: Message['role']) =>
  fc.record({ messageId: fc.uuid(), role: fc.constant(role), parts }) as fc.Arbitrary<Message>;
const artifact = fc.record({
  type: fc.constant('artifact' as const),
  artifactId: fc.integer({ max: 24 }).map((id) => `artifact ${id}`),
  artifact: fc.record({ name: fc.constantFrom('a', 'b'), parts }),
  append: fc.boolean(),
  last: fc.constant(false),
});
const output: fc.Arbitrary<RunOutput> = fc.oneof(
  { arbitrary: artifact, weight: 6 },
  { arbitrary: message('agent').map((reported) => ({ type: 'status' as const, message: reported })), weight: 2 },
);
const lost = fc.constant({ type: 'lost', reason: 'released', retry: RETRY } as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  message('user').map((sent) => ({ type: 'message' as const, message: sent })),
  fc.array(output, { minLength: 1, maxLength: 8 }).map((outputs) => ({ type: 'write' as const, outputs })),
  lost.map((output) => ({ type: 'write' as const, outputs: [output] })),
);

describe('TaskReader', () => {
  it('returns the same view as the fold of the events, for any content that the bounds omit', async () => {
    const historyLengths = fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 10 }),
        historyLengths,
        async (steps, historyLength) => {
          const taskId = await aTask(steps);
          const folded = (await foldOf(taskId)).view(historyLength);
          const options = { artifacts: true, ...(historyLength === undefined ? {} : { historyLength }) };
          expect(await reader.view(TENANT, taskId, options)).toEqual(folded);
          expect(viewBytes(folded)).toBeLessThanOrEqual(BOUNDS.taskBytes);
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);

  it('returns the same views one by one as together', async () => {
    const large = {
      type: 'status',
      message: { messageId: 's', role: 'agent', parts: [{ text: 'x'.repeat(1_500 * KiB) }] },
    };
    const ids = await Promise.all(
      [0, 1, 2, 3, 4].map((n) => aTask(n % 2 === 0 ? [] : [{ type: 'write', outputs: [large as RunOutput] }])),
    );
    const rows = await reader.rows(TENANT, ids);
    const options = { artifacts: true, historyLength: 3 };
    const views: TaskView[] = [];
    for await (const view of reader.viewsOneByOne(TENANT, rows, options)) views.push(view);
    expect(views).toEqual(await reader.views(TENANT, rows, options));
  });
});

describe('TaskReader with corrupt content', () => {
  const writes: Step = {
    type: 'write',
    outputs: [
      { type: 'status', message: { messageId: 'm2', role: 'agent', parts: [{ text: 'working' }] } },
      { type: 'artifact', artifactId: 'a', artifact: { parts: [{ text: 'one' }] }, append: false, last: true },
      { type: 'artifact', artifactId: 'b', artifact: { parts: [{ text: 'two' }] }, append: false, last: true },
      { type: 'complete', message: { messageId: 'm3', role: 'agent', parts: [{ text: 'done' }] } },
    ],
  };

  /** Alters events in the database, past the trigger that forbids it. */
  const alter = async (statement: string, values: unknown[]) => {
    await testDatabase.asOwner('alter table event disable trigger event_is_append_only');
    await testDatabase.asOwner(statement, values);
    await testDatabase.asOwner('alter table event enable trigger event_is_append_only');
  };

  const replaceContent = (taskId: string, type: string, content: unknown) =>
    log.readStored(TENANT, taskId, 0, 100).then(async (stored) => {
      const { event, key } = stored.find(({ event: { type: t } }) => t === type)!;
      const cipher = (log as unknown as { cipher: { encrypt(...args: unknown[]): Buffer } }).cipher;
      const sealed = Buffer.isBuffer(content) ? content : cipher.encrypt(key, event.event_id, content);
      await alter('update event set content = $3 where tenant_id = $1 and event_id = $2', [
        TENANT,
        event.event_id,
        sealed,
      ]);
    });

  it.each([
    ['corrupt', Buffer.from('no valid ciphertext, but long enough')],
    ['too-deep', { message: { messageId: 'm2', role: 'agent', parts: [{ data: nested(100) }] } }],
    ['malformed', { message: { messageId: 'm2', role: 'agent', parts: [] } }],
    ['too-large', Buffer.alloc(BOUNDS.taskBytes + 100)],
  ] as const)('returns everything except a message that is %s, and counts it', async (reason, content) => {
    const taskId = await aTask([writes]);
    await replaceContent(taskId, 'StatusReported', content);
    const before = decoder.skippedContent[reason];
    const view = (await reader.view(TENANT, taskId, { artifacts: true }))!;
    expect(view.history.map(({ messageId }) => messageId)).toEqual([SUBMIT.message.messageId]);
    expect(view.statusMessage?.messageId).toBe('m3');
    expect(view.artifacts).toHaveLength(2);
    expect(view.truncated).toEqual({ unreadable: 1 });
    expect(decoder.skippedContent[reason]).toBe(before + 1);
  });

  it('returns a placeholder for an artifact without readable content', async () => {
    const taskId = await aTask([writes]);
    await replaceContent(taskId, 'ArtifactPublished', Buffer.from('no valid ciphertext, but long enough'));
    const view = (await reader.view(TENANT, taskId, { artifacts: true }))!;
    expect(view.artifacts.map(({ artifactId, parts }) => [artifactId, parts])).toEqual([
      ['a', [{ placeholder: { reason: 'unreadable', taskId, artifactId: 'a' } }]],
      ['b', [{ text: 'two' }]],
    ]);
    expect(view).toEqual((await foldOf(taskId)).view());
  });

  it('returns placeholders after the key of the content was destroyed', async () => {
    const taskId = await aTask([writes]);
    await testDatabase.asOwner('delete from task_key where tenant_id = $1 and task_id = $2', [TENANT, taskId]);
    const view = (await reader.view(TENANT, taskId, { artifacts: true }))!;
    expect(view.state.status).toBe('completed');
    for (const { parts } of [...view.history, view.statusMessage!, ...view.artifacts]) {
      expect(parts).toMatchObject([{ placeholder: { reason: 'erased' } }]);
    }
    expect(view.history.map(({ messageId }) => messageId)).toEqual([SUBMIT.message.messageId, 'm2']);
    expect(view).toEqual((await foldOf(taskId)).view());
  });

  it('returns a generated context id if the stored one is invalid, and counts it', async () => {
    const taskId = await aTask([]);
    await database.pool.query(
      `update task set state = jsonb_set(state::jsonb, '{contextId}', '""')::json where task_id = $1`,
      [taskId],
    );
    const before = decoder.skippedContent['invalid-context'];
    const views = [
      await reader.view(TENANT, taskId, { artifacts: false }),
      await reader.view(TENANT, taskId, { artifacts: false }),
    ];
    expect(views[0]!.state.contextId).toMatch(/^[0-9a-f-]{36}$/);
    expect(views[1]!.state.contextId).toBe(views[0]!.state.contextId);
    expect(decoder.skippedContent['invalid-context']).toBe(before + 2);
  });
});

function nested(depth: number): Part['data'] {
  return depth === 0 ? 1 : [nested(depth - 1)!];
}
