import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { CACHE } from './installation.mjs';
import { SDKS } from './sdks.mjs';

const SCRIPT = fileURLToPath(new URL('python/inspect_server.py', import.meta.url));

/** The settings of `ACTA_CARD_VERSION`, with the header that the inspector sends. Its SDK cannot read a card of 1.0. */
const FORMS = [
  { form: 'compatible', version: '' },
  { form: '0.3', version: '' },
  { form: '1.0', version: '0.3' },
];

/**
 * Inspects a server with each setting of `ACTA_CARD_VERSION`, with the rules of a2a-inspector and without a browser.
 *
 * @param {(name: string, env: Record<string, string>) => Promise<{ url: string, stop: () => Promise<void> }>} start
 * @returns {Promise<{ lines: string[], problems: string[] }>} `lines` is empty if `A2A_INSPECTOR_DIR` is not set
 */
export async function inspectServers(start) {
  const folder = process.env.A2A_INSPECTOR_DIR;
  if (folder === undefined) return { lines: [], problems: [] };
  const rules = join(folder, 'backend/validators.py');
  if (!existsSync(rules))
    return { lines: [], problems: [`A2A_INSPECTOR_DIR: "${folder}" has no backend/validators.py`] };
  const sdk = /** @type {import('./sdks.mjs').Sdk} */ (SDKS.find(({ id }) => id === 'python-0.3'));
  const [python] = await sdk.install(CACHE);
  const lines = [];
  const problems = [];
  for (const { form, version } of FORMS) {
    const server = await start(`card-${form}`, { ACTA_CARD_VERSION: form, ACTA_AUTH: 'none' });
    const { stdout } = await promisify(execFile)(python, [SCRIPT, rules, server.url, version]).finally(server.stop);
    /** @type {string[]} */
    const warnings = JSON.parse(stdout);
    const header = version === '' ? '' : `, with the header \`A2A-Version: ${version}\``;
    lines.push(`- \`ACTA_CARD_VERSION=${form}\`${header}: ${warnings.join(' ') || 'no warning'}`);
    problems.push(...warnings.map((warning) => `a2a-inspector, ACTA_CARD_VERSION=${form}: ${warning}`));
  }
  return { lines, problems };
}
