import { mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasErrorCode } from './error-code.js';

/**
 * Creates a folder and its missing parents; an existing folder is left as it is. Node's recursive `mkdir` never returns
 * below a folder that accepts no entries, such as `/proc`. Throws the errors of the file system.
 */
export async function createFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT') && !(await pathExists(dirname(path)))) {
      await createFolder(dirname(path));
      return createFolder(path, mode);
    }
    if (!hasErrorCode(error, 'EEXIST')) throw error;
    const found = await stat(path).catch((reason: unknown) => {
      throw hasErrorCode(reason, 'ENOENT') ? new Error(`${path} is a link to a missing folder`) : reason;
    });
    if (!found.isDirectory()) throw error;
  }
}

/** Returns whether a path leads to a file or folder; a link to a missing one does not. */
export const pathExists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Flushes the entries of a folder to disk, so that a new or renamed file survives a crash of the machine. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path);
  await folder.sync().finally(() => folder.close());
}
