import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { V1Caller } from '../../support/clients/rpc.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import type { ActaProcess } from '../../support/processes/acta-process.js';
import { startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { CARELESS } from '../agents/modules/agent-modules.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
}, 90_000);
afterAll(() => database?.drop());

/** The log lines of a process, without its startup text. */
const linesOf = (process: ActaProcess) =>
  process.output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Runs a task whose agent rejects a promise without a handler, and returns the log lines of its server. */
async function linesOfServer(level: string) {
  const env = { ACTA_AGENTS: CARELESS, LOG_LEVEL: level };
  const server = await startServer({ databaseUrl: database.url, env });
  const task = await new V1Caller(server.url, TOKEN).send('hello');
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  await server.stop();
  return linesOf(server.process);
}

describe('The log', () => {
  it('of a server is one JSON object per line, with the error of an unhandled rejection in fields', async () => {
    expect(await linesOfServer('error')).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        level: 'error',
        context: 'agent-process',
        message: 'unhandled promise rejection',
        module: 'careless.mjs',
        error: 'Error: no handler',
        stack: expect.stringMatching(/^at .*careless\.mjs/),
      },
    ]);
  });

  it('of a server is empty at the level silent', async () => {
    expect(await linesOfServer('silent')).toEqual([]);
  });

  it.each([
    ['info', 'contains no line', false],
    ['debug', 'contains lines', true],
  ])('of a worker at the level %s %s of the level debug', async (level, _title, expected) => {
    const worker = await startWorker(database.url, { LOG_LEVEL: level });
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(linesOf(worker).some((line) => line['level'] === 'debug')).toBe(expected);
  });
});
