import { spawn } from 'node:child_process';
import { CASES } from './cases.mjs';

/** A client needs a few seconds. Each of its cases has a limit of 30 s. */
const CLIENT_TIMEOUT_MS = 300_000;

/**
 * Runs a client, and returns the results of its cases. A client that ends early fails in the case `card`.
 *
 * @param {readonly string[]} command
 * @param {{ url: string, binding: string, token: string }} target
 * @returns {Promise<{ name: string, passed: boolean, error?: string }[]>}
 */
export async function runClient([program, ...args], { url, binding, token }) {
  const child = spawn(program, [...args, '--url', url, '--binding', binding, '--token', token], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: CLIENT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
  }
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  const results = output.stdout.split('\n').flatMap(resultIn);
  if (code === 0 && results.length > 0) return results;
  const lines = output.stderr.trim().split('\n');
  const error = `the client ended with code ${code}: ${lines.find((line) => /error/i.test(line)) ?? lines.at(-1)}`;
  return [...results.filter(({ name }) => name !== 'card'), { name: 'card', passed: false, error }];
}

/** Reads a line of a client. The SDKs also print lines of their own. */
function resultIn(/** @type {string} */ line) {
  if (!line.startsWith('{"case":')) return [];
  const { case: name, passed, error } = JSON.parse(line);
  if (!(name in CASES)) throw new Error(`"${name}" is not in cases.mjs`);
  return [{ name, passed, ...(error === undefined ? {} : { error }) }];
}
