import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './embedded-postgres-error.js';

/**
 * Makes a folder where it is missing, and those above it. Node's recursive `mkdir` tries for ever below a folder that takes
 * none, such as `/proc`. Throws errors of the file system.
 */
export async function createFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (hasCode(error, 'ENOENT') && !(await isThere(dirname(path)))) {
      await createFolder(dirname(path));
      return createFolder(path, mode);
    }
    if (!hasCode(error, 'EEXIST')) throw error;
    const found = await stat(path).catch((reason: unknown) => {
      throw hasCode(reason, 'ENOENT') ? new Error(`${path} is a link to what is not there`) : reason;
    });
    if (!found.isDirectory()) throw error;
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
