import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDataDir } from './acta-process.js';

/** Writes an agent module into a new data directory, and returns its path for `ACTA_AGENTS`. */
export async function writeAgentModule(source: string): Promise<string> {
  const path = join(await createDataDir(), 'agent.mjs');
  await writeFile(path, source);
  return path;
}
