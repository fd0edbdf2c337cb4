import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The root folder of the repository, with a trailing slash. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Folders whose content is installed, built, or written by a run. */
const NOT_OURS = ['node_modules', 'dist', '.dist', '.acta', '.git'];

/** Every file below some top-level folders, as paths relative to the repository, sorted. */
export function projectFiles(...folders: readonly string[]): string[] {
  const below = (folder: string): string[] =>
    readdirSync(ROOT + folder, { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (!entry.isDirectory()) return [path];
      return NOT_OURS.includes(entry.name) ? [] : below(path);
    });
  return folders.flatMap(below).toSorted();
}

/** The text of a file of the repository. */
export const readProjectFile = (path: string): string => readFileSync(ROOT + path, 'utf8');
