import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ActaProcess, createDataDir, type Environment } from '../../support/processes/acta-process.js';
import { runActa } from '../../support/processes/run-acta.js';
import { environmentFor, type RunningServer, SECRET, startServer } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

const SLOW_MS = 120_000;

describe('beside a server on the embedded database', () => {
  let dataDir: string;
  let server: RunningServer;
  const acta = (...args: string[]) => runActa({ ACTA_DATA_DIR: dataDir }, ...args);
  const actaJson = async (...args: string[]) => JSON.parse((await acta(...args, '--json')).stdout);

  beforeAll(async () => {
    dataDir = await createDataDir();
    const applied = await actaJson('migrate');
    expect(applied.applied).toContain('0001-event-log');
    server = await startServer({ dataDir, databaseUrl: null });
  }, SLOW_MS);
  afterAll(() => server.stop());

  it(
    'finds the schema up to date, and everything in order',
    async () => {
      expect(await acta('migrate')).toEqual({ code: 0, stdout: 'The schema is up to date.\n', stderr: '' });
      const doctor = await acta('doctor');
      expect(doctor.code).toBe(0);
      expect(doctor.stdout.split('\n').filter((line) => !line.startsWith('ok '))).toEqual(['']);
    },
    SLOW_MS,
  );

  it(
    'makes keys that work until they are rotated or revoked',
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
      const made = await actaJson(...args);
      expect(made.key).toMatchObject({
        tenantId: 'default',
        subject: 'bob',
        role: 'member',
        rings: ['ring:dev', 'ring:ops'],
      });
      expect(Date.parse(made.key.expiresAt) - Date.parse(made.key.createdAt)).toBeGreaterThan(43_000_000);
      expect(await call(made.token)).toBe(200);
      const rotated = await actaJson('keys', 'rotate', made.key.keyId);
      expect(rotated.token).not.toBe(made.token);
      expect(await call(rotated.token)).toBe(200);
      const revoked = await actaJson('keys', 'revoke', made.key.keyId);
      expect(revoked.revokedAt).not.toBeNull();
      const listed = await acta('keys', 'list');
      expect(listed.stdout).toMatch(
        new RegExp(`^${made.key.keyId} +default +bob +member +ring:dev ring:ops +- +revoked `, 'm'),
      );
      expect(listed.stdout).not.toContain('acta_');
      const missing = await acta('keys', 'revoke', 'nothing');
      expect(missing).toEqual({ code: 1, stdout: '', stderr: 'acta: there is no key nothing: see `acta keys list`\n' });
    },
    SLOW_MS,
  );

  it(
    'sends, waits for whoever runs it, answers a question, and shows the record',
    async () => {
      const asked = await actaJson('tasks', 'send', 'ask', '--wait', '--subject', 'bob', '--ring', 'ring:dev');
      expect(asked).toMatchObject({ status: 'input-required', owner: 'bob', ring: 'ring:dev' });
      const id = asked.taskId;
      const answer = [
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
      const answered = await acta(...answer);
      expect(answered).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('OVER ·[31MTHERE') });
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
      const timeline = await acta('tasks', 'timeline', id);
      expect([...timeline.stdout.matchAll(/ \d+ {2}([A-Z]\w+) /g)].map(([, type]) => type)).toEqual(types);
      expect(timeline.stdout).not.toContain('\u001b');
      const lines = (await acta('tasks', 'events', id, '--after', '6', '--json')).stdout.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).type)).toEqual(types.slice(6));
      const watched = (await acta('tasks', 'watch', id, '--json')).stdout.trimEnd().split('\n');
      expect(watched.map((line) => JSON.parse(line).type)).toEqual(types);
      expect(await actaJson('tasks', 'show', id)).toMatchObject({ taskId: id, status: 'completed', version: 8 });
      expect(await actaJson('tasks', 'list', '--limit', '1')).toMatchObject({ tasks: [{ taskId: id }] });
    },
    SLOW_MS,
  );

  it(
    'watches a task until someone cancels it',
    async () => {
      const { taskId } = await actaJson('tasks', 'send', 'sleep 60s');
      const watcher = new ActaProcess('cli', { ACTA_DATA_DIR: dataDir }, ['tasks', 'watch', taskId]);
      await watcher.prints(/StatusReported/);
      const canceled = await acta('tasks', 'cancel', taskId);
      expect(canceled).toMatchObject({ code: 0, stdout: expect.stringContaining('canceled since') });
      expect(await watcher.exited).toEqual({ code: 0, signal: null });
      expect(watcher.logs).toMatch(/TaskCanceled/);
    },
    SLOW_MS,
  );

  it(
    'ends with 1 and one sentence when something is not there or does not go well',
    async () => {
      const missing = { code: 1, stdout: '', stderr: 'acta: task not found\n' };
      for (const what of ['show', 'events', 'timeline', 'watch', 'cancel']) {
        expect(await acta('tasks', what, 'nothing')).toEqual(missing);
      }
      expect(await acta('tasks', 'send', 'fail', '--wait')).toMatchObject({ code: 1, stderr: '' });
      expect(await acta('tasks', 'send', 'hello', '--ring', '')).toMatchObject({ code: 0 });
      expect((await acta('audit', 'verify', '--task', 'nothing')).stderr).toBe('acta: there is no task nothing\n');
    },
    SLOW_MS,
  );

  it(
    'finds the record whole and the read models right',
    async () => {
      const verified = await acta('audit', 'verify');
      expect(verified).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Every chain is whole: \d+ tasks, \d+ events\.\n$/),
      });
      expect(await acta('projections', 'check')).toMatchObject({ code: 0 });
      expect(await actaJson('projections', 'rebuild')).toMatchObject({ differing: 0, damaged: 0 });
      for (const what of [
        ['audit', 'verify'],
        ['projections', 'check'],
        ['projections', 'rebuild'],
      ]) {
        const nope = await acta(...what, '--task', 'nope');
        expect(nope).toEqual({
          code: 1,
          stdout: '',
          stderr: expect.stringMatching(/^acta: there is no task nope\b.*\n$/),
        });
      }
    },
    SLOW_MS,
  );
});

describe('on DATABASE_URL', () => {
  let database: TestDatabase;
  let environment: Environment;
  const acta = (...args: string[]) => runActa(environment, ...args);
  const query = async (sql: string) => {
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    environment = environmentFor(database.url, await createDataDir());
  });
  afterAll(() => database.drop());

  it(
    'says when no worker takes a task, and shows the outcome once one has',
    async () => {
      const sender = new ActaProcess('cli', environment, ['tasks', 'send', 'hello', '--wait']);
      await sender.prints(/^acta: no worker has taken the task so far; .+$/m);
      const worker = new ActaProcess('cli', environment, ['worker', '--json']);
      const [line] = await worker.prints(/^\{.*\}$/m);
      expect(JSON.parse(line)).toMatchObject({ agents: ['demo'], concurrency: 16 });
      expect(await sender.exited).toEqual({ code: 0, signal: null });
      expect(sender.logs).toContain('HELLO');
      expect(await worker.stop()).toEqual({ code: 0, signal: null });
    },
    SLOW_MS,
  );

  it(
    'names what differs in the read models, and makes it anew',
    async () => {
      await query(`update task set status = 'working'; delete from message`);
      const found = await acta('projections', 'check');
      expect(found.code).toBe(1);
      expect(found.stdout).toMatch(/^DIFFERS {2}task \S+ of tenant default: its task row differs in status$/m);
      expect(found.stdout).toMatch(/^DIFFERS {2}task \S+ of tenant default: its message row 2 was missing$/m);
      expect(await acta('projections', 'rebuild')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Rebuilt 1 tasks/m),
      });
      expect(await acta('projections', 'check')).toMatchObject({ code: 0 });
    },
    SLOW_MS,
  );

  it(
    'names the task and the version where someone changed the record',
    async () => {
      await query(`alter table event disable trigger event_is_append_only;
      update event set actor_subject = 'mallory' where version = 2`);
      const verified = await acta('audit', 'verify');
      expect(verified.code).toBe(1);
      expect(verified.stdout).toMatch(
        /^BROKEN {2}task \S+ of tenant default, version 2: the event is not what was written$/m,
      );
      const [broken, counts] = (await acta('audit', 'verify', '--json')).stdout.split('\n');
      expect(JSON.parse(broken!)).toMatchObject({ version: 2, reason: 'altered-event' });
      expect(JSON.parse(counts!)).toEqual({ tasks: 1, events: 5, breaks: 1 });
    },
    SLOW_MS,
  );

  it(
    'tells a wrong secret and an old schema from a database in order',
    async () => {
      const other = { ...environment, ACTA_SECRET_KEY: SECRET.split('').reverse().join('') };
      const wrong = await runActa(other, 'doctor');
      expect(wrong.code).toBe(1);
      expect(wrong.stdout).toMatch(/^FAILED {2}secret: .*ACTA_SECRET_KEY/m);
      await query(`delete from kysely_migration where name like '0004%' or name > '0004'`);
      const old = await acta('doctor');
      expect(old.stdout).toMatch(/^FAILED {2}schema: it lacks 0004-access.*acta migrate/m);
    },
    SLOW_MS,
  );

  it(
    'starts nothing that cannot work, and says why',
    async () => {
      const idle = await runActa({ ...environment, ACTA_WORKER_CONCURRENCY: '0' }, 'worker');
      expect(idle).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^acta: ACTA_WORKER_CONCURRENCY=0 [^\n]+\n$/),
      });
      const wrong = await runActa({ ACTA_CARD_VERSION: '2.0' }, 'tasks', 'list');
      expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/^acta: ACTA_CARD_VERSION [^\n]+\n$/) });
      const nowhere = await runActa({ ...environment, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/acta' }, 'worker');
      expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringMatching(/^acta: DATABASE_URL [^\n]+\n$/) });
    },
    SLOW_MS,
  );
});

it(
  'shows every surface in the demo, and finds nothing wrong with any',
  async () => {
    const demo = await runActa({}, 'demo', '--json');
    expect(JSON.parse(demo.stdout).filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
    expect(demo.code).toBe(0);
  },
  SLOW_MS,
);
