import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/project-files.js';
import { SUITES } from './suites.mjs';

const run = (args: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.mjs'), ...args], { env });

describe('npm run test:extended', () => {
  it('lists every suite with its smoke case', async () => {
    const { stdout } = await run(['--list']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(SUITES.length);
    for (const { name, about, smoke } of SUITES) {
      expect(stdout).toContain(`${name}: ${about} (smoke case: ${smoke})\n`);
    }
  });

  it('has a unique name and an existing smoke case for every suite', () => {
    expect(new Set(SUITES.map(({ name }) => name)).size).toBe(SUITES.length);
    expect(SUITES.filter(({ smoke }) => !existsSync(join(ROOT, smoke)))).toEqual([]);
  });

  it('skips the TCK and states the reason when A2A_TCK_DIR is not set', async () => {
    const { stdout } = await run(['--only', 'tck']);
    expect(stdout).toContain('skipped  tck: A2A_TCK_DIR is not set');
  });

  it('exits with code 1 and names the suite when a suite fails', async () => {
    await expect(run(['--only', 'tck'], { A2A_TCK_DIR: '/nonexistent' })).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^failed   tck: exit code 2 after \d+ s$/m),
    });
  });

  it('rejects an unknown suite', async () => {
    await expect(run(['--only', 'nothing'])).rejects.toMatchObject({
      code: 2,
      stderr: '--only: "nothing" is not a suite; --list prints the suites\n',
    });
  });
});
