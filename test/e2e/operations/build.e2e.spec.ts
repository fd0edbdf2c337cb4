import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/clients/rpc.js';
import { createDataDir } from '../../support/processes/acta-process.js';
import { ROOT } from '../../support/project-files.js';

const run = promisify(execFile);
const COPIED = [
  '.ci',
  'apps',
  'libs',
  'migrations',
  'nest-cli.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

describe('npm run build', () => {
  let copy: string;
  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), 'acta-build-'));
    for (const path of COPIED) await cp(join(ROOT, path), join(copy, path), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
    await build();
  }, 60_000);
  afterAll(() => rm(copy, { recursive: true, force: true }));

  const build = () => run(process.execPath, [join(copy, '.ci/build.mjs')]);
  const target = () => readlink(join(copy, 'dist'));
  const change = () => appendFile(join(copy, 'libs/domain/src/backoff.ts'), '// changed\n');

  it('does not build again if no source has changed', async () => {
    const before = await target();
    await build();
    expect(await target()).toBe(before);
    await change();
    await build();
    expect(await target()).not.toBe(before);
  }, 60_000);

  it('does not disturb commands that start meanwhile, also if it runs twice at once', async () => {
    let isBuilding = true;
    const builds = (async () => {
      for (let nth = 0; nth < 2; nth += 1) {
        await change();
        await Promise.all([build(), build()]);
      }
      isBuilding = false;
    })();
    let commands = 0;
    while (isBuilding) {
      const { stdout } = await run(process.execPath, [join(copy, 'dist/apps/cli/src/main.js'), '--help']);
      expect(stdout).toContain('Usage: acta');
      commands += 1;
    }
    await builds;
    expect(commands).toBeGreaterThan(2);
  }, 120_000);
});

describe('npm start', () => {
  it('ends the server with SIGTERM', async () => {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, PORT: '0', ACTA_DATA_DIR: await createDataDir() };
    const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    npm.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const [, url] = await eventually(
      async () => /^Acta listens on (\S+)$/m.exec(output) ?? [],
      ({ length }) => length > 0,
    );
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    npm.kill('SIGTERM');
    await once(npm, 'exit');
    const responds = () =>
      fetch(`${url}/health/live`).then(
        () => true,
        () => false,
      );
    expect(await eventually(responds, (isListening) => !isListening)).toBe(false);
  }, 60_000);
});
