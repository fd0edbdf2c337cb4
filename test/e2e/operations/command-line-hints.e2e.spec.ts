import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import { createDataDir, entryOf, type Environment } from '../../support/processes/acta-process.js';
import { runActa } from '../../support/processes/run-acta.js';
import { environmentFor } from '../../support/processes/start-server.js';

const TIMEOUT_MS = 120_000;
const onLinux = process.platform === 'linux' ? it : it.skip;

let database: TestDatabase;
let environment: Environment;
beforeAll(async () => {
  database = await createTestDatabase();
  environment = environmentFor(database.url, await createDataDir());
});
afterAll(() => database.drop());

const acta = (...args: string[]) => runActa(environment, ...args);
const actaJson = async (...args: string[]) => JSON.parse((await acta(...args, '--json')).stdout);
const asBob = ['--subject', 'bob', '--ring', 'ring:dev'];
const oneSentence = (text: RegExp) => expect.stringMatching(new RegExp(`^acta: [^\n]*${text.source}[^\n]*\n$`));

/** Runs a command with one of its streams on a device that is full. Returns the exit code and the other stream. */
function actaOnFullDevice(stream: 'stdout' | 'stderr', ...args: string[]) {
  const full = openSync('/dev/full', 'w');
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [entryOf('cli'), ...args], {
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', stream === 'stdout' ? full : 'pipe', stream === 'stderr' ? full : 'pipe'],
  });
  closeSync(full);
  let other = '';
  (child.stdout ?? child.stderr)!.setEncoding('utf8').on('data', (text: string) => (other += text));
  return new Promise<{ code: number | null; other: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, other })),
  );
}

describe('The command line', () => {
  it('prints the version of its package for --version', async () => {
    const { version } = (await import('../../../package.json', { with: { type: 'json' } })).default;
    expect(await acta('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  onLinux.each([['--help'], ['keys list'], ['tasks list --json']])(
    'prints one sentence and exits with code 1 if `%s` cannot write its output because the device is full',
    async (command) => {
      const result = await actaOnFullDevice('stdout', ...command.split(' '));
      expect(result).toEqual({ code: 1, other: oneSentence(/the output cannot be written \(ENOSPC\)/) });
    },
    TIMEOUT_MS,
  );

  onLinux(
    'exits with the code of the error if the device of stderr is full',
    async () => {
      expect(await actaOnFullDevice('stderr', 'tasks', 'show', 'nope')).toEqual({ code: 1, other: '' });
      expect(await actaOnFullDevice('stderr', 'tasks', 'show')).toEqual({ code: 2, other: '' });
    },
    TIMEOUT_MS,
  );

  it(
    'states that no worker of the agent has claimed the task when the time of --wait or of watch is over',
    async () => {
      const waited = await acta('tasks', 'send', 'hello', '--wait', '--timeout', '1s');
      const stderr = oneSentence(
        /task [0-9a-f-]{36} has not ended: no worker of agent "demo" has claimed it; `acta tasks/,
      );
      expect(waited).toEqual({ code: 1, stdout: '', stderr });
      const [taskId] = /[0-9a-f-]{36}/.exec(waited.stderr)!;
      const watched = await acta('tasks', 'watch', taskId, '--timeout', '1s');
      expect(watched).toEqual({ code: 1, stdout: expect.stringContaining('MessageAccepted'), stderr });
      const limited = await acta('tasks', 'send', 'hello', '--timeout', '1s');
      expect(limited).toEqual({ code: 1, stdout: '', stderr: oneSentence(/--timeout limits --wait/) });
    },
    TIMEOUT_MS,
  );

  it(
    'names the owner and the ring of a task that exists and is not visible to the sender',
    async () => {
      const { taskId } = await actaJson('tasks', 'send', 'of bob', ...asBob);
      for (const sender of [[], ['--subject', 'bob']]) {
        const refused = await acta('tasks', 'send', 'more', '--task', taskId, ...sender);
        const stderr = oneSentence(new RegExp(`task ${taskId} is not visible to .*--subject bob --ring ring:dev`));
        expect(refused).toEqual({ code: 1, stdout: '', stderr });
      }
      expect(await acta('tasks', 'send', 'more', '--task', taskId, ...asBob)).toMatchObject({ code: 0, stderr: '' });
      const missing = await acta('tasks', 'send', 'more', '--task', 'no-such-task', ...asBob);
      expect(missing).toEqual({ code: 1, stdout: '', stderr: 'acta: task not found\n' });
    },
    TIMEOUT_MS,
  );

  it(
    'prints the actor and the command of each event',
    async () => {
      const { taskId } = await actaJson('tasks', 'send', 'events of', ...asBob);
      const lines = (await acta('tasks', 'events', taskId)).stdout.split('\n');
      expect(lines[0]).toMatch(/^VERSION +RECORDED AT +TYPE +ACTOR +COMMAND +HASH +SUMMARY$/);
      expect(lines[1]).toMatch(
        / TaskSubmitted +bob \(member\) +message:bob:[0-9a-f-]{30,}…? +[0-9a-f]{16} +agent demo/,
      );
      const help = (await acta('tasks', 'events', '--help')).stdout.replaceAll(/\s+/g, ' ');
      expect(help).toContain('with their actors, commands and hashes; --json adds ids and the complete content');
    },
    TIMEOUT_MS,
  );

  it(
    'accepts every status that the list shows as a filter, and rejects others with the choices',
    async () => {
      expect(await acta('tasks', 'list', '--status', 'replied')).toMatchObject({ code: 0, stderr: '' });
      const wrong = await acta('tasks', 'list', '--status', 'done');
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('replied') });
    },
    TIMEOUT_MS,
  );

  it('rejects --tenant without the task that it belongs to', async () => {
    const result = await acta('projections', 'check', '--tenant', 'acme');
    expect(result).toEqual({ code: 1, stdout: '', stderr: oneSentence(/--tenant selects the tenant of --task/) });
  });
});
