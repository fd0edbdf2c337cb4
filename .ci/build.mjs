import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync } from 'node:fs';
import { lstatSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Compiles the apps into a folder of .dist that is named after the sources, and then points the link `dist` to it. A process that
// was started before keeps its own folder, and one that starts now never finds an incomplete one. Does nothing if the sources did
// not change.
const SOURCES = ['apps', 'libs', 'migrations', 'nest-cli.json', 'tsconfig.json', 'package.json', 'package-lock.json'];
/** The builds that are kept, for processes that still load modules from them. */
const KEPT = 3;
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const name = hashOfSources();
const folder = join('.dist', name);
if (!exists(folder)) compile(folder);
if (linkTarget() !== folder) link(folder);
removeOldBuilds();

function hashOfSources() {
  const hash = createHash('sha256').update(process.version);
  const files = SOURCES.flatMap((path) =>
    statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true }).map((file) => join(path, String(file)))
      : path,
  );
  for (const file of files.filter((each) => /\.(?:ts|json|sql)$/.test(each) && !each.endsWith('.spec.ts')).toSorted()) {
    hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

function compile(/** @type {string} */ target) {
  mkdirSync('.dist', { recursive: true });
  const temporary = mkdtempSync(join('.dist', 'incomplete-'));
  const output = join(temporary, 'dist');
  const tsconfig = join(temporary, 'tsconfig.json');
  writeFileSync(tsconfig, JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { outDir: 'dist' } }));
  const nest = readFileSync('nest-cli.json', 'utf8')
    .replaceAll('"tsConfigPath": "tsconfig.json"', `"tsConfigPath": ${JSON.stringify(tsconfig)}`)
    .replaceAll('"outDir": "dist/', `"outDir": "${output.replaceAll('\\', '/')}/`);
  writeFileSync(join(temporary, 'nest-cli.json'), nest);
  try {
    const cli = join(dirname(createRequire(import.meta.url).resolve('@nestjs/cli/package.json')), 'bin', 'nest.js');
    const args = [cli, 'build', 'server', '--config', join(temporary, 'nest-cli.json')];
    const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) process.exit(status ?? 1);
    try {
      renameSync(output, target);
    } catch (error) {
      // A concurrent build of the same sources was faster.
      if (!exists(target)) throw error;
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function link(/** @type {string} */ target) {
  const temporary = `dist.${process.pid}`;
  symlinkSync(target, temporary, 'junction');
  // `nest start --watch` writes a folder.
  if (linkTarget() === null && exists('dist')) rmSync('dist', { recursive: true });
  renameSync(temporary, 'dist');
  const now = new Date();
  utimesSync(target, now, now);
}

function removeOldBuilds() {
  const builds = readdirSync('.dist')
    .filter((each) => !each.startsWith('incomplete-'))
    .map((each) => ({ path: join('.dist', each), usedAt: statSync(join('.dist', each)).mtimeMs }))
    .toSorted((one, other) => other.usedAt - one.usedAt);
  for (const { path } of builds.slice(KEPT)) if (path !== linkTarget()) rmSync(path, { recursive: true, force: true });
}

/** The folder that `dist` is a link to. Null if it is no link. */
function linkTarget() {
  try {
    return readlinkSync('dist');
  } catch {
    return null;
  }
}

function exists(/** @type {string} */ path) {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
