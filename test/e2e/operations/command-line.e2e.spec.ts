import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ActaProcess, createDataDir, type Environment } from '../../support/processes/acta-process.js';
import { runActa } from '../../support/processes/run-acta.js';
import { environmentFor, type RunningServer, SECRET, startServer } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

const TIMEOUT_MS = 120_000;

describe('The command line on the embedded database of a running server', () => {
  let dataDir: string;
  let server: RunningServer;
  const acta = (...args: string[]) => runActa({ ACTA_DATA_DIR: dataDir }, ...args);
  const actaJson = async (...args: string[]) => JSON.parse((await acta(...args, '--json')).stdout);

  beforeAll(async () => {
    dataDir = await createDataDir();
    const applied = await actaJson('migrate');
    expect(applied.applied).toContain('0002-event-log');
    server = await startServer({ dataDir, databaseUrl: null });
  }, TIMEOUT_MS);
  afterAll(() => server.stop());

  it(
    'reports a current schema and no failed check',
    async () => {
      expect(await acta('migrate')).toEqual({ code: 0, stdout: 'The schema is up to date.\n', stderr: '' });
      const doctor = await acta('doctor');
      expect(doctor.code).toBe(0);
      expect(doctor.stdout.split('\n').filter((line) => !line.startsWith('ok '))).toEqual(['']);
    },
    TIMEOUT_MS,
  );

  it(
    'creates, rotates, revokes and lists keys, and never lists a token',
    async () => {
      const call = async (token: string) =>
        (await fetch(`${server.url}/a2a/agent`, { headers: { Authorization: `Bearer ${token}` } })).status;
      const args = [
        'keys',
        'create',
        '--subject',
        'bob',
        '--ring',
        'ring:dev',
        '--ring',
        'ring:ops',
        '--expires',
        '12h',
      ];
      const created = await actaJson(...args);
      expect(created.key).toMatchObject({
        tenantId: 'default',
        subject: 'bob',
        role: 'member',
        rings: ['ring:dev', 'ring:ops'],
      });
      expect(Date.parse(created.key.expiresAt) - Date.parse(created.key.createdAt)).toBeGreaterThan(43_000_000);
      expect(await call(created.token)).toBe(200);
      const rotated = await actaJson('keys', 'rotate', created.key.keyId);
      expect(rotated.token).not.toBe(created.token);
      expect(await call(rotated.token)).toBe(200);
      const revoked = await actaJson('keys', 'revoke', created.key.keyId);
      expect(revoked.revokedAt).not.toBeNull();
      const listed = await acta('keys', 'list');
      expect(listed.stdout).toMatch(
        new RegExp(`^${created.key.keyId} +default +bob +member +ring:dev ring:ops +- +revoked `, 'm'),
      );
      expect(listed.stdout).not.toContain('acta_');
      const missing = await acta('keys', 'revoke', 'no-such-key');
      expect(missing).toEqual({
        code: 1,
        stdout: '',
        stderr: 'acta: key no-such-key not found: see `acta keys list`\n',
      });
    },
    TIMEOUT_MS,
  );

  it(
    'sends messages, waits for the server to run the task, and prints its events',
    async () => {
      const paused = await actaJson('tasks', 'send', 'ask', '--wait', '--subject', 'bob', '--ring', 'ring:dev');
      expect(paused).toMatchObject({ status: 'input-required', owner: 'bob', ring: 'ring:dev' });
      const id = paused.taskId;
      const continueArgs = [
        'tasks',
        'send',
        'over \u001b[31mthere',
        '--wait',
        '--task',
        id,
        '--subject',
        'bob',
        '--ring',
        'ring:dev',
      ];
      const continued = await acta(...continueArgs);
      expect(continued).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('OVER ·[31MTHERE') });
      const types = [
        'TaskSubmitted',
        'MessageAccepted',
        'RunStarted',
        'InputRequested',
        'MessageAccepted',
        'RunStarted',
        'ArtifactPublished',
        'TaskCompleted',
      ];
      await acta('tasks', 'show', id);
      const { items } = await actaJson('audit', 'log', '--task', id, '--limit', '1');
      expect(items).toMatchObject([{ type: 'TaskAccessed', facts: { operation: 'GetTask', taskIds: [id] } }]);
      const log = await acta('audit', 'log', '--since', '2026-01-01');
      expect(log.stdout).toMatch(/^TIME +TYPE +ACTOR +FACTS$/m);
      expect(log.stdout).toContain(id);
      expect((await acta('audit', 'log', '--since', 'yesterday')).stderr).toContain('Use a time such as');
      const timeline = await acta('tasks', 'timeline', id);
      expect([...timeline.stdout.matchAll(/ \d+ {2}([A-Z]\w+) /g)].map(([, type]) => type)).toEqual(types);
      expect(timeline.stdout).not.toContain('\u001b');
      const lines = (await acta('tasks', 'events', id, '--after', '6', '--json')).stdout.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).type)).toEqual(types.slice(6));
      const watched = (await acta('tasks', 'watch', id, '--json')).stdout.trimEnd().split('\n');
      expect(watched.map((line) => JSON.parse(line).type)).toEqual(types);
      expect(await actaJson('tasks', 'show', id)).toMatchObject({ taskId: id, status: 'completed', version: 8 });
      const { agent, owner, ring } = await actaJson('tasks', 'show', id);
      const filters = ['--agent', agent, '--owner', owner, '--ring', ring, '--since', '2026-01-01'];
      expect(await actaJson('tasks', 'list', '--limit', '1', ...filters)).toMatchObject({ tasks: [{ taskId: id }] });
      expect(await actaJson('tasks', 'list', '--until', '2026-01-01')).toMatchObject({ totalSize: 0 });
    },
    TIMEOUT_MS,
  );

  it(
    'watches a task until it is canceled',
    async () => {
      const { taskId } = await actaJson('tasks', 'send', 'sleep 60s');
      const watcher = new ActaProcess('cli', { ACTA_DATA_DIR: dataDir }, ['tasks', 'watch', taskId]);
      await watcher.waitForOutput(/StatusReported/);
      const canceled = await acta('tasks', 'cancel', taskId);
      expect(canceled).toMatchObject({ code: 0, stdout: expect.stringContaining('canceled since') });
      expect(await watcher.exited).toEqual({ code: 0, signal: null });
      expect(watcher.output).toMatch(/TaskCanceled/);
    },
    TIMEOUT_MS,
  );

  it(
    'exits with code 1 and one sentence for a missing task, and with code 1 for a failed one',
    async () => {
      const missing = { code: 1, stdout: '', stderr: 'acta: task not found\n' };
      for (const command of ['show', 'events', 'timeline', 'watch', 'cancel']) {
        expect(await acta('tasks', command, 'no-such-task')).toEqual(missing);
      }
      expect(await acta('tasks', 'send', 'fail', '--wait')).toMatchObject({ code: 1, stderr: '' });
      expect(await acta('tasks', 'send', 'hello', '--ring', '')).toMatchObject({ code: 0 });
      for (const command of ['pushes list', 'pushes retry', 'audit log', 'audit verify', 'projections check']) {
        const stderr = expect.stringMatching(/^acta: task no-such-task not found\b[^\n]*acta tasks list[^\n]*\n$/);
        expect(await acta(...command.split(' '), '--task', 'no-such-task')).toEqual({ code: 1, stdout: '', stderr });
      }
      for (const command of ['pushes list', 'pushes retry', 'audit verify']) {
        const stderr = expect.stringMatching(/^acta: tenant nobody has no tasks: [^\n]+\n$/);
        expect(await acta(...command.split(' '), '--tenant', 'nobody')).toEqual({ code: 1, stdout: '', stderr });
      }
    },
    TIMEOUT_MS,
  );

  it(
    'verifies the hash chains, and checks and rebuilds the read models',
    async () => {
      const verified = await acta('audit', 'verify');
      expect(verified).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Verified \d+ tasks, \d+ events: every chain is valid\.\n$/),
      });
      expect(await acta('projections', 'check')).toMatchObject({ code: 0 });
      expect(await actaJson('projections', 'rebuild')).toMatchObject({ differing: 0, corrupt: 0 });
      for (const command of [
        ['audit', 'verify'],
        ['projections', 'check'],
        ['projections', 'rebuild'],
      ]) {
        const missing = await acta(...command, '--task', 'no-such-task');
        expect(missing).toEqual({
          code: 1,
          stdout: '',
          stderr: expect.stringMatching(/^acta: task no-such-task not found\b.*\n$/),
        });
      }
    },
    TIMEOUT_MS,
  );
});

describe('The command line on DATABASE_URL', () => {
  let database: TestDatabase;
  let environment: Environment;
  const acta = (...args: string[]) => runActa(environment, ...args);
  const query = (sql: string) => database.asOwner(sql);

  beforeAll(async () => {
    database = await createTestDatabase();
    environment = environmentFor(database.url, await createDataDir());
  });
  afterAll(() => database.drop());

  it(
    'warns while no worker claims a task, and prints the outcome when one has run it',
    async () => {
      const sender = new ActaProcess('cli', environment, ['tasks', 'send', 'hello', '--wait']);
      await sender.waitForOutput(/^acta: no worker has claimed the task yet: .+$/m);
      const worker = new ActaProcess('cli', environment, ['worker', '--json']);
      const [line] = await worker.waitForOutput(/^\{.*\}$/m);
      expect(JSON.parse(line)).toMatchObject({ agents: ['demo'], concurrency: 16 });
      expect(await sender.exited).toEqual({ code: 0, signal: null });
      expect(sender.output).toContain('HELLO');
      expect(await worker.stop()).toEqual({ code: 0, signal: null });
    },
    TIMEOUT_MS,
  );

  it(
    'reports differences in the read models, and rebuilds them',
    async () => {
      await query(`update task set status = 'working'; delete from message`);
      const found = await acta('projections', 'check');
      expect(found.code).toBe(1);
      expect(found.stdout).toMatch(/^DIFFERS {2}task \S+ of tenant default: task row differs in status$/m);
      expect(found.stdout).toMatch(/^DIFFERS {2}task \S+ of tenant default: message row 2 is missing$/m);
      expect(await acta('projections', 'rebuild')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Rebuilt 1 task: differences in 1 task\.$/m),
      });
      expect(await acta('projections', 'check')).toMatchObject({ code: 0 });
    },
    TIMEOUT_MS,
  );

  it(
    'reports the task and version of an event that was altered',
    async () => {
      await query(`alter table event disable trigger event_is_append_only;
      update event set actor_subject = 'mallory' where version = 2`);
      const verified = await acta('audit', 'verify');
      expect(verified.code).toBe(1);
      expect(verified.stdout).toMatch(
        /^BROKEN {2}task \S+ of tenant default, version 2: the event does not match its own hash$/m,
      );
      const [broken, counts] = (await acta('audit', 'verify', '--json')).stdout.split('\n');
      expect(JSON.parse(broken!)).toMatchObject({ version: 2, reason: 'altered-event' });
      expect(JSON.parse(counts!)).toEqual({ tasks: 1, events: 5, breaks: 1 });
    },
    TIMEOUT_MS,
  );

  it(
    'reports a wrong secret and an old schema as failed checks',
    async () => {
      const wrongSecret = { ...environment, ACTA_SECRET_KEY: SECRET.split('').reverse().join('') };
      const found = await runActa(wrongSecret, 'doctor');
      expect(found.code).toBe(1);
      expect(found.stdout).toMatch(/^FAILED {2}secret: .*ACTA_SECRET_KEY/m);
      await query(`update schema_version set number = 0; delete from schema_migration where name > '0004'`);
      const outdated = await acta('doctor');
      expect(outdated.stdout).toMatch(/^FAILED {2}schema: .*pending: 0004-access.*acta migrate/m);
    },
    TIMEOUT_MS,
  );

  it(
    'exits with one sentence for a configuration that cannot work',
    async () => {
      const idle = await runActa({ ...environment, ACTA_WORKER_CONCURRENCY: '0' }, 'worker');
      expect(idle).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^acta: ACTA_WORKER_CONCURRENCY=0 [^\n]+\n$/),
      });
      const wrong = await runActa({ ACTA_CARD_VERSION: '2.0' }, 'tasks', 'list');
      expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/^acta: ACTA_CARD_VERSION [^\n]+\n$/) });
      const unreachable = await runActa(
        { ...environment, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/acta' },
        'worker',
      );
      expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringMatching(/^acta: DATABASE_URL [^\n]+\n$/) });
    },
    TIMEOUT_MS,
  );
});

describe('acta demo', () => {
  it(
    'passes every step',
    async () => {
      const demo = await runActa({}, 'demo', '--json');
      expect(JSON.parse(demo.stdout).filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
      expect(demo.code).toBe(0);
    },
    TIMEOUT_MS,
  );
});
