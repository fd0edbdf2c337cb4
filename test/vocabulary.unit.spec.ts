import { basename, dirname } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { projectFiles, readProjectFile } from './support/project-files.js';

/**
 * Words that no identifier, file name or test title of the project contains. Each is a metaphor, or one of several words for
 * one thing. The glossary in ARCHITECTURE.md lists the terms to use.
 */
const BANNED = `
  afar anew answer answered answering answers arrow arrows beat beating beats border borders deaf door doors elsewhere
  farewell gist gone goodbye handed harmless hear heard hearing hears impatient impatiently mute nameless news opener owes
  patience patient patiently place places refusal refusals room rooms said say saying says spoiled starved tell telling
  tells told untellable vain well whoever worthless
`;
/** Words that are banned only as a whole name, because they are usual as a part of one (`expiresAt`). */
const BANNED_NAMES = ['alone', 'at'];

interface Occurrence {
  readonly word: string;
  readonly file: string;
  readonly line: number;
  readonly kind: 'name' | 'file' | 'title';
  /** The whole identifier, path or title. */
  readonly text: string;
}

interface Allowed {
  readonly word: string;
  /** A file, or a folder that ends with a slash; `*` is every file. */
  readonly where: string;
  /** What the identifier, path or title contains; absent: anything. */
  readonly in?: string;
  readonly reason: string;
}

const TITLED = new Set(['describe', 'it', 'test']);

const banned = new Set(BANNED.trim().split(/\s+/));
const files = projectFiles('apps', 'libs', 'migrations', 'test', 'examples').filter((file) =>
  /\.(?:ts|mjs)$/.test(file),
);
const occurrences = files.flatMap((file) => [...occurrencesIn(file)]);
const allowed = JSON.parse(readProjectFile('test/vocabulary.allow.json')) as readonly Allowed[];

describe('The vocabulary of the project', () => {
  it('contains no banned word in an identifier, a file name or a test title', () => {
    const violations = occurrences.filter((each) => !allowed.some((entry) => allows(entry, each)));
    expect(
      violations.map(({ word, file, line, kind, text }) => `${file}:${line}: "${word}" in the ${kind} ${text}`),
    ).toEqual([]);
  });

  it('needs every entry of the allow-list', () => {
    expect(allowed.filter((entry) => !occurrences.some((each) => allows(entry, each)))).toEqual([]);
  });

  it('has a reason in every entry of the allow-list', () => {
    for (const entry of allowed) expect(entry.reason).toMatch(/^\S.*\.$/);
  });
});

/** The words of an identifier, a path or a sentence, in lower case. */
function wordsOf(text: string): string[] {
  return (text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());
}

function allows({ word, where, in: part }: Allowed, each: Occurrence): boolean {
  const isThere = where === '*' || where === each.file || (where.endsWith('/') && each.file.startsWith(where));
  return word === each.word && isThere && each.text.includes(part ?? '');
}

function* occurrencesIn(file: string): Generator<Occurrence> {
  const source = ts.createSourceFile(file, readProjectFile(file), ts.ScriptTarget.Latest, true);
  const find = function* (kind: Occurrence['kind'], text: string, node: ts.Node): Generator<Occurrence> {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    for (const word of new Set(wordsOf(text))) if (banned.has(word)) yield { word, file, line, kind, text };
    const name = text.toLowerCase();
    if (kind === 'name' && BANNED_NAMES.includes(name)) yield { word: name, file, line, kind, text };
  };
  yield* find('file', `${basename(dirname(file))}/${basename(file)}`, source);
  const nodes: ts.Node[] = [source];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    const name = declaredNameOf(node);
    if (name !== undefined) yield* find('name', name, node);
    const title = titleOf(node);
    if (title !== undefined) yield* find('title', title, node);
    ts.forEachChild(node, (child) => void nodes.push(child));
  }
}

/** The identifier that a node declares; undefined for every other node. */
function declaredNameOf(node: ts.Node): string | undefined {
  if (!ts.isIdentifier(node) && !ts.isPrivateIdentifier(node)) return undefined;
  const { parent } = node;
  if (!('name' in parent) || parent.name !== node) return undefined;
  // A use of what is declared somewhere else: `object.name`, `import { name }`, `export { name }`, `{ name }`.
  if (ts.isPropertyAccessExpression(parent) || ts.isShorthandPropertyAssignment(parent)) return undefined;
  if ((ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) && parent.propertyName === undefined)
    return undefined;
  return node.text;
}

/** The title that a call of `describe`, `it` or `test` has, also through `.each`, `.skip` and the like. */
function titleOf(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  const [title] = node.arguments;
  let callee: ts.Expression = node.expression;
  while (!ts.isIdentifier(callee)) {
    if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
    else if (ts.isTaggedTemplateExpression(callee)) callee = callee.tag;
    else return undefined;
  }
  if (!TITLED.has(callee.text) || title === undefined) return undefined;
  if (ts.isStringLiteralLike(title)) return title.text;
  if (!ts.isTemplateExpression(title)) return undefined;
  return [title.head.text, ...title.templateSpans.map(({ literal }) => literal.text)].join('…');
}
