import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createFolder, hasErrorCode } from '@app/embedded-postgres';
import { StorageError } from './storage-error.js';

const VALUE_BYTES = 32;
/** The length of a value in base64url. A shorter value was damaged, for example by a crash or an editor. */
const VALUE_LENGTH = 43;

/**
 * The generated token and secret in `ACTA_DATA_DIR`. With the embedded database, open the database first, because it
 * sets the owner of the directory. Processes that start concurrently on one directory get the same values.
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

  /** Returns the bearer token of the bootstrap admin. Generates it if its file does not exist. Throws StorageError. */
  token(): Promise<string> {
    return this.readOrGenerate(this.tokenFile, 'delete the file, so that the next start generates a new token');
  }

  /**
   * Returns the secret of the embedded database. Generates it if its file does not exist. Without the secret, the
   * encrypted content is lost. Throws StorageError.
   */
  secret(): Promise<string> {
    return this.readOrGenerate(
      this.secretFile,
      'restore it from a backup, because the database cannot be read without it',
    );
  }

  private async readOrGenerate(file: string, advice: string): Promise<string> {
    try {
      const value = ((await readIfExists(file)) ?? (await this.generate(file))).trim();
      if (value.length < VALUE_LENGTH) throw new StorageError(`${file} is corrupt: ${advice}.`);
      return value;
    } catch (error) {
      if (error instanceof StorageError) throw error;
      throw new StorageError(
        `${file} cannot be used by this user (${(error as Error).message}): give it access, or set ACTA_DATA_DIR to a different folder.`,
        { cause: error },
      );
    }
  }

  /**
   * Writes a temporary file and links it, so that the file is complete when it appears, and one of several processes
   * creates it.
   */
  private async generate(file: string): Promise<string> {
    await createFolder(this.path, 0o700);
    const temporary = `${file}.${randomBytes(4).toString('hex')}`;
    try {
      const handle = await open(temporary, 'wx', 0o600);
      try {
        await handle.writeFile(`${randomBytes(VALUE_BYTES).toString('base64url')}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await link(temporary, file).catch((error: unknown) => {
        if (!hasErrorCode(error, 'EEXIST')) throw error;
      });
      await this.syncFolder();
    } finally {
      await rm(temporary, { force: true });
    }
    return readFile(file, 'utf8');
  }

  // The secret must be on disk before anything is encrypted with it.
  private async syncFolder(): Promise<void> {
    if (process.platform === 'win32') return;
    const folder = await open(this.path);
    await folder.sync().finally(() => folder.close());
  }
}

async function readIfExists(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}
