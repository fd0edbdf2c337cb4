import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

it('loads with the server that it measures, and says what it can do', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.mjs'), '--help']);
  expect(stdout).toContain('npm run bench');
});
