import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createFolder, hasErrorCode } from '@app/embedded-postgres';
import { StorageError } from './storage-error.js';

const RANDOM_BYTES = 32;
/** Of their base64url form. Anything shorter is a file that a crash or an editor left behind. */
const LENGTH = 43;

/**
 * What Acta keeps in `ACTA_DATA_DIR` besides the embedded database. Open that first where it is used: it settles who owns
 * the directory. Several processes may start on one directory at once; all get the same values.
 */
export class DataDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get tokenFile(): string {
    return join(this.path, 'token');
  }

  get secretFile(): string {
    return join(this.path, 'secret');
  }

  /** The bearer token of the bootstrap admin, made at the first start. Deleting its file makes another at the next. */
  token(): Promise<string> {
    return this.generated(this.tokenFile, 'delete the file to have a new token made at the next start');
  }

  /** The secret of the embedded database, made at the first start. Content that it encrypted is lost with it. */
  secret(): Promise<string> {
    return this.generated(this.secretFile, 'restore it from a backup, as the database can be read with no other');
  }

  private async generated(file: string, advice: string): Promise<string> {
    try {
      const value = (await readIfThere(file)) ?? (await this.generate(file));
      if (value.trim().length < LENGTH) throw new StorageError(`${file} does not hold what Acta wrote: ${advice}.`);
      return value.trim();
    } catch (error) {
      if (error instanceof StorageError) throw error;
      throw new StorageError(
        `${file} cannot be used by this user (${(error as Error).message}): give it access, or set ACTA_DATA_DIR to another folder.`,
        { cause: error },
      );
    }
  }

  // A file of its own that then gets its name, so that it appears whole or not at all, and of two starts at once one wins.
  private async generate(file: string): Promise<string> {
    await createFolder(this.path, 0o700);
    const unfinished = `${file}.${randomBytes(4).toString('hex')}`;
    try {
      const written = await open(unfinished, 'wx', 0o600);
      try {
        await written.writeFile(`${randomBytes(RANDOM_BYTES).toString('base64url')}\n`);
        await written.sync();
      } finally {
        await written.close();
      }
      await link(unfinished, file).catch((error: unknown) => {
        if (!hasErrorCode(error, 'EEXIST')) throw error;
      });
      await this.sync();
    } finally {
      await rm(unfinished, { force: true });
    }
    return readFile(file, 'utf8');
  }

  // A database that outlives its secret is unreadable, so the name must be on disk before anything is encrypted with it.
  private async sync(): Promise<void> {
    if (process.platform === 'win32') return;
    const folder = await open(this.path);
    await folder.sync().finally(() => folder.close());
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}
