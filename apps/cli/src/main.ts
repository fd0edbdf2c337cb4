#!/usr/bin/env node
import 'reflect-metadata';
import { run } from './run.js';

// Whoever reads has seen enough (`acta … | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
process.exitCode = await run(process.argv.slice(2));
