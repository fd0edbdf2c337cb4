import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSchemaDefinition, type SchemaDefinition } from '../schema-definition.js';

const MIGRATIONS = fileURLToPath(new URL('../../../../../migrations/', import.meta.url));

/** A copy of `migrations/` that a test can change, as a different version of Acta has it. */
export class SchemaFolder {
  private constructor(readonly path: string) {}

  static async create(): Promise<SchemaFolder> {
    const path = await mkdtemp(join(tmpdir(), 'acta-schema-'));
    await cp(MIGRATIONS, path, { recursive: true });
    return new SchemaFolder(path);
  }

  /** Writes a file, and returns this folder. */
  async write(file: string, text: string): Promise<this> {
    await mkdir(dirname(join(this.path, file)), { recursive: true });
    await writeFile(join(this.path, file), text);
    return this;
  }

  /** Replaces a text that the file contains, and returns this folder. */
  async replace(file: string, text: string, replacement: string): Promise<this> {
    const content = await readFile(join(this.path, file), 'utf8');
    if (!content.includes(text)) throw new Error(`${file} does not contain "${text}"`);
    return this.write(file, content.replace(text, replacement));
  }

  setVersion(number: number, oldestCompatible: number): Promise<this> {
    return this.write('version.json', JSON.stringify({ number, oldestCompatible }));
  }

  /** Reads the definition and removes the folder. */
  async toDefinition(): Promise<SchemaDefinition> {
    return readSchemaDefinition(this.path).finally(() => rm(this.path, { recursive: true }));
  }
}

/** The next version: a column, a changed function, and a function with a new argument beside the one of this version. */
export async function nextVersion({ oldestCompatible = 1 } = {}): Promise<SchemaDefinition> {
  const folder = await SchemaFolder.create();
  await folder.setVersion(2, oldestCompatible);
  await folder.write(
    '0006-note.sql',
    `alter table task add column note text;\ncomment on column task.note is 'A note.';\n`,
  );
  await folder.replace('functions/refuse_change.sql', 'is refused', 'is not allowed');
  await folder.write(
    'functions/previous/append_events.sql',
    await readFile(join(folder.path, 'functions/append_events.sql'), 'utf8'),
  );
  await folder.replace('functions/append_events.sql', 'p_pushes jsonb)', 'p_pushes jsonb, p_note text)');
  return folder.toDefinition();
}
