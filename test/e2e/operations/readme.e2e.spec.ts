import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from '@jest/globals';
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

/** The first block of a language after a heading. */
function block(heading: string, language: string): string {
  const section = readme.slice(readme.indexOf(`## ${heading}`));
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(
    language === 'sh' && heading === 'Start' ? section.slice(section.indexOf('curl') - 7) : section,
  );
  if (found === null) throw new Error(`the README has no ${language} block under "${heading}"`);
  return found[1]!;
}

it('gives the answer that the README shows to the line that it has for pasting, and its timeline', async () => {
  const cwd = await createDataDir();
  const dataDir = join(cwd, 'data');
  const server = await startServer({ databaseUrl: null, dataDir, env: { ACTA_TOKEN: '' } });
  try {
    await symlink(dataDir, join(cwd, '.acta'));
    const line = block('Start', 'sh').replaceAll(URL_IN_README, server.url);
    const { stdout } = await run('bash', ['-c', line], { cwd });
    expect(withoutTimes(JSON.parse(stdout))).toEqual(withoutTimes(JSON.parse(block('Start', 'json'))));
    const again = await run('bash', ['-c', line], { cwd });
    expect(JSON.parse(again.stdout)).toEqual(JSON.parse(stdout));

    const acta = async (args: string) => {
      const command = [join(ROOT, 'dist/apps/cli/src/main.js'), ...args.split(' ')];
      const env = { PATH: process.env['PATH'], ACTA_DATA_DIR: dataDir };
      return (await run(process.execPath, command, { env })).stdout;
    };
    const [, timeline] = /^npm run acta -- (tasks timeline .+)$/m.exec(readme) ?? [];
    expect(await acta(timeline!)).toContain('TaskCompleted');
    expect(await acta('audit verify')).toMatch(/1 task/);
  } finally {
    await server.stop();
  }
}, 120_000);

it('runs the agent that the README shows', async () => {
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

/** Times are of the day on which it was run. */
const withoutTimes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time'));
