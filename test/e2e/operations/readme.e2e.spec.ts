import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createDataDir } from '../../support/processes/acta-process.js';
import { V1Caller } from '../../support/clients/rpc.js';
import { startServer, TOKEN } from '../../support/processes/start-server.js';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const URL_IN_README = 'http://127.0.0.1:8420';

let readme: string;
beforeAll(async () => {
  readme = await readFile(join(ROOT, 'README.md'), 'utf8');
});

/** Returns the first code block of a language after a heading; for `Start`, the first with a curl command. */
function block(heading: string, language: string): string {
  const section = readme.slice(readme.indexOf(`## ${heading}`));
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(
    language === 'sh' && heading === 'Start' ? section.slice(section.indexOf('curl') - 7) : section,
  );
  if (found === null) throw new Error(`the README has no ${language} block under "${heading}"`);
  return found[1]!;
}

/** The README shows the times and the ids of one run of the command. Equal ids stay equal. */
function withoutTimesAndIds(value: unknown): unknown {
  const ids = new Map<string, string>();
  const nameOf = (id: string) => ids.get(id) ?? ids.set(id, `id ${ids.size + 1}`).get(id)!;
  const text = JSON.stringify(value)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, nameOf);
  return JSON.parse(text);
}

describe('The README', () => {
  it('shows the response of its curl command, and the command for its timeline', async () => {
    const cwd = await createDataDir();
    const dataDir = join(cwd, 'data');
    const server = await startServer({ databaseUrl: null, dataDir, env: { ACTA_TOKEN: '' } });
    try {
      await symlink(dataDir, join(cwd, '.acta'));
      const command = block('Start', 'sh').replaceAll(URL_IN_README, server.url);
      const { stdout } = await run('bash', ['-c', command], { cwd });
      const response = JSON.parse(stdout) as { result: { task: { id: string } } };
      expect(withoutTimesAndIds(response)).toEqual(withoutTimesAndIds(JSON.parse(block('Start', 'json'))));
      const again = await run('bash', ['-c', command], { cwd });
      expect(JSON.parse(again.stdout)).toEqual(response);

      const acta = async (args: string) => {
        const argv = [join(ROOT, 'dist/apps/cli/src/main.js'), ...args.split(' ')];
        const env = { PATH: process.env['PATH'], ACTA_DATA_DIR: dataDir };
        return (await run(process.execPath, argv, { env })).stdout;
      };
      const [, timeline] = /^npm run acta -- (tasks timeline .+)$/m.exec(readme) ?? [];
      expect(await acta(timeline!.replace('TASK_ID', response.result.task.id))).toContain('TaskCompleted');
      expect(await acta('audit verify')).toMatch(/1 task/);
    } finally {
      await server.stop();
    }
  }, 120_000);

  it('contains an agent module that runs', async () => {
    const file = join(await createDataDir(), 'shout.mjs');
    await writeFile(file, block('Your own agent', 'js'));
    const server = await startServer({ env: { ACTA_AGENTS: file } });
    try {
      const task = await new V1Caller(server.url, TOKEN).send('hello');
      expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'hello!' }]);
    } finally {
      await server.stop();
    }
  }, 60_000);
});
