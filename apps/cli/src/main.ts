#!/usr/bin/env node
import 'reflect-metadata';
import { INTERRUPTED } from './exit.js';
import { run } from './run.js';

// Whoever reads has seen enough (`acta … | head`): what has something to put in order first ends as it does when it is told to.
let seenEnough = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (seenEnough) return;
  seenEnough = true;
  if (!process.emit('SIGTERM')) process.exit(0);
});
const code = await run(process.argv.slice(2));
process.exitCode = seenEnough && code === INTERRUPTED ? 0 : code;
