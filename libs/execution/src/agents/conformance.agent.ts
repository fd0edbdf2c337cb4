import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '@app/domain';
import type { Agent, AgentContext, ArtifactInput } from './agent.contract.js';

/** The agents of the kit call it "2x streaming timeout". */
const LONG_RUNNING_MS = 4_000;

const FILE: Part = {
  raw: Buffer.from('tck').toString('base64'),
  filename: 'output.txt',
  mediaType: 'text/plain',
};
const FILE_URL: Part = { url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: 'text/plain' };

type Scenario = (ctx: AgentContext) => Promise<void>;

const complete =
  (message?: string): Scenario =>
  (ctx) =>
    ctx.complete(message);

/** Publishes one artifact and completes. */
const publish =
  (...parts: readonly Part[]): Scenario =>
  async (ctx) => {
    await ctx.artifact({ parts });
    await ctx.complete();
  };

/** Reports `working`, publishes the chunks one by one, and completes. */
const stream =
  (...chunks: readonly Omit<ArtifactInput, 'id'>[]): Scenario =>
  async (ctx) => {
    await ctx.working();
    for (const chunk of chunks) await ctx.artifact(chunk);
    await ctx.complete();
  };

/** Scenarios by the prefix of a message id. A longer prefix is listed before a prefix that it starts with. */
const SCENARIOS: readonly (readonly [prefix: string, scenario: Scenario])[] = [
  ['tck-complete-task', complete('Hello from TCK')],
  ['tck-artifact-text', publish({ text: 'Generated text content' })],
  ['tck-artifact-file-url', publish(FILE_URL)],
  ['tck-artifact-file', publish(FILE)],
  ['tck-artifact-data', publish({ data: { key: 'value', count: 42 } })],
  ['tck-message-response', (ctx) => ctx.reply('Direct message response')],
  ['tck-input-required', (ctx) => ctx.requireInput('Please send more input.')],
  ['tck-reject-task', (ctx) => ctx.reject('rejected')],
  ['tck-stream-001', stream({ parts: [{ text: 'Stream hello from TCK' }] })],
  ['tck-stream-002', complete()],
  ['tck-stream-003', stream({ parts: [{ text: 'Stream task lifecycle' }] })],
  ['tck-stream-ordering-001', stream({ parts: [{ text: 'Ordered output' }] })],
  ['tck-stream-artifact-text', stream({ parts: [{ text: 'Streamed text content' }] })],
  ['tck-stream-artifact-file', stream({ parts: [FILE] })],
  [
    'tck-stream-artifact-chunked',
    stream({ parts: [{ text: 'chunk-1 ' }] }, { parts: [{ text: 'chunk-2' }], append: true, last: true }),
  ],
  [
    'test-resubscribe-message-id',
    async (ctx) => {
      await ctx.working();
      await sleep(LONG_RUNNING_MS, undefined, { signal: ctx.signal });
      await ctx.complete();
    },
  ],
];

/**
 * The agent for the A2A technology compatibility kit, which selects a scenario by the message id. The kit reuses message ids
 * with different texts in one session, so idempotency is off.
 */
export const conformanceAgent: Agent = {
  name: 'conformance',
  description: 'Responds to the scenarios of the A2A technology compatibility kit',
  version: '1.0.0',
  skills: [
    {
      id: 'tck',
      name: 'Conformance scenarios',
      description: 'Executes the scenario that the message id names',
      tags: ['conformance'],
    },
  ],
  inputModes: ['text/plain', 'application/json'],
  outputModes: ['text/plain', 'application/json'],
  idempotency: 'off',
  async run(ctx) {
    const { messageId } = ctx.message;
    const [, scenario] = SCENARIOS.find(([prefix]) => messageId.startsWith(prefix)) ?? [];
    await (scenario ?? complete(`the message id ${messageId} matches no scenario`))(ctx);
  },
};
