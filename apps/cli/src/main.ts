#!/usr/bin/env node
import 'reflect-metadata';
import { INTERRUPTED } from './exit.js';
import { run } from './run.js';

// `acta … | head` closes stdout. A command that handles SIGTERM then cleans up; any other one exits immediately.
let stdoutClosed = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (stdoutClosed) return;
  stdoutClosed = true;
  if (!process.emit('SIGTERM')) process.exit(0);
});
const code = await run(process.argv.slice(2));
process.exitCode = stdoutClosed && code === INTERRUPTED ? 0 : code;
