import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the version of Acta from its package.json: `0.1.0`. */
export function programVersion(): string {
  // The sources and the build are at different depths below package.json.
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** Returns how the command line calls itself in the requests that it records: `acta-cli/0.1.0`. */
export const clientName = (): string => `acta-cli/${programVersion()}`;
