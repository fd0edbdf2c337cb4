import { extname, isAbsolute, resolve } from 'node:path';
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

const TYPESCRIPT = ['.ts', '.mts'];

/**
 * Imports an agent module and returns its default exports. A path is relative to the working directory. The types of a
 * TypeScript module, and of those that it imports, are removed without being checked, in the same way on every version of Node.
 */
export async function importAgentModule(path: string): Promise<unknown[]> {
  const absolute = isAbsolute(path) ? path : resolve(process.cwd(), path);
  if (TYPESCRIPT.includes(extname(absolute))) register('./typescript-hook.js', import.meta.url);
  const { default: exported } = (await import(pathToFileURL(absolute).href)) as { default?: unknown };
  return Array.isArray(exported) ? exported : [exported];
}
