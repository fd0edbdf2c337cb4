// Runs every operation with the official SDKs against two servers, and writes the results to docs/interop.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startBuiltServer } from '../support/processes/built-server.mjs';
import { runClient } from './client.mjs';
import { inspectServers } from './inspector.mjs';
import { CACHE, InstallationError } from './installation.mjs';
import { compareWithKnown } from './known-failures.mjs';
import { withResults } from './report.mjs';
import { SDKS } from './sdks.mjs';

const HELP = `node test/interop/main.mjs [--only ID]...
  --only  run only this SDK; can be repeated: ${SDKS.map(({ id }) => id).join(', ')}
  A2A_INSPECTOR_DIR  a checkout of a2aproject/a2a-inspector, whose rules check the cards and responses; absent: not checked
Writes docs/interop.md after a run of all SDKs and the inspector.
Installs the packages into ${CACHE}. Exits with code 1 if a case fails that is not in known-failures.mjs.`;
const PAGE = fileURLToPath(new URL('../../docs/interop.md', import.meta.url));
const TOKEN = 'token-of-the-interop-clients-of-this-suite';

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [] }, help: { type: 'boolean', default: false } },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const unknown = values.only.find((only) => !SDKS.some(({ id }) => id === only));
if (unknown !== undefined) {
  console.error(`--only: "${unknown}" is not an SDK; --help lists them`);
  process.exit(2);
}
const sdks = SDKS.filter(({ id }) => values.only.length === 0 || values.only.includes(id));

const scratch = mkdtempSync(join(tmpdir(), 'acta-interop-'));
const start = (/** @type {string} */ name, /** @type {Record<string, string>} */ env) =>
  startBuiltServer({
    ACTA_DATA_DIR: join(scratch, name),
    ACTA_PUSH_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'warn',
    ...env,
  });
/** @type {{ stop: () => Promise<void> }[]} */
const servers = [];
try {
  const commands = [];
  for (const sdk of sdks) {
    console.log(`installing ${sdk.package} ${sdk.version}`);
    commands.push({ sdk, command: await installed(sdk) });
  }
  const open = await start('open', { ACTA_AUTH: 'none' });
  servers.push(open);
  const authenticated = await start('authenticated', { ACTA_TOKEN: TOKEN });
  servers.push(authenticated);
  const results = [];
  for (const { sdk, command } of commands) {
    for (const binding of sdk.bindings) {
      const [first, second] = await Promise.all([
        runClient(command, { url: open.url, binding, token: '' }),
        runClient(command, { url: authenticated.url, binding, token: TOKEN }),
      ]);
      const own = [
        ...first.map((result) => ({ sdk: sdk.id, binding, server: 'open', ...result })),
        ...second.map((result) => ({ sdk: sdk.id, binding, server: 'authenticated', ...result })),
      ];
      results.push(...own);
      const failed = own.filter(({ passed }) => !passed).map(({ server, name }) => `${name} (${server})`);
      console.log(
        `${sdk.id} ${binding}: ${own.length - failed.length} passed, ${failed.length} failed ${failed.join(', ')}`,
      );
    }
  }
  const inspector = await inspectServers(start);
  for (const line of inspector.lines) console.log(line);
  if (values.only.length > 0 || inspector.lines.length === 0)
    console.log('docs/interop.md is not written: it needs all SDKs and A2A_INSPECTOR_DIR');
  else writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), sdks, results, inspector.lines));
  const problems = [...compareWithKnown(results), ...inspector.problems];
  for (const line of problems) console.error(line);
  process.exitCode = problems.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`interop: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(scratch, { recursive: true, force: true });
}

/** Installs an SDK. Errors: InstallationError, in one sentence that says what to do. */
async function installed(/** @type {import('./sdks.mjs').Sdk} */ sdk) {
  try {
    return await sdk.install(CACHE);
  } catch (error) {
    if (!(error instanceof InstallationError)) throw error;
    throw new InstallationError(
      `${sdk.package} ${sdk.version} cannot be installed: ${error.message}; check the connection to the package registry, or select other SDKs with --only.`,
    );
  }
}
