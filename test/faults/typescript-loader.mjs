// Lets Node run the TypeScript of this repository: `node --import ./test/faults/typescript-loader.mjs program.ts`.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from '@swc/core';

const ROOT = new URL('../../', import.meta.url);

if (isMainThread) register(import.meta.url);

/** @type {import('node:module').ResolveHook} */
export function resolve(specifier, context, next) {
  const library = /^@app\/([\w-]+)$/.exec(specifier)?.[1];
  if (library !== undefined) return next(new URL(`libs/${library}/src/index.ts`, ROOT).href, context);
  const own = context.parentURL?.endsWith('.ts') && specifier.startsWith('.');
  return next(own ? specifier.replace(/\.js$/, '.ts') : specifier, context);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    swcrc: false,
    sourceMaps: 'inline',
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    },
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}
