import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

describe('npm run bench', () => {
  it('prints its options for --help', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.mjs'), '--help']);
    expect(stdout).toContain('npm run bench');
  });
});
