#!/usr/bin/env node
import 'reflect-metadata';
import { FAILURE, INTERRUPTED } from './exit.js';
import { run } from './run.js';

// `acta … | head` closes stdout, and a disk can be full. A command that handles SIGTERM then cleans up; any other one exits
// immediately.
let outputEnd: number | null = null;
process.stdout.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
  if (outputEnd !== null) return;
  outputEnd = code === 'EPIPE' ? 0 : FAILURE;
  if (outputEnd === FAILURE) console.error(`acta: the output cannot be written (${code}): free the target of stdout`);
  if (!process.emit('SIGTERM')) process.exit(outputEnd);
});
// Nothing can report that errors cannot be written. The exit code still does.
process.stderr.on('error', () => undefined);
const code = await run(process.argv.slice(2));
process.exitCode = outputEnd !== null && (code === INTERRUPTED || code === 0) ? outputEnd : code;
