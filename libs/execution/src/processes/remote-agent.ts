import type { Agent } from '../agents/agent.contract.js';
import type { ModuleHost } from './module-host.js';
import type { RemoteFunction, SentAgent } from './channel/protocol.js';

/** The fields of an agent that its process sends, and its functions. */
const FIELDS = {
  name: 'field',
  description: 'field',
  version: 'field',
  skills: 'field',
  inputModes: 'field',
  outputModes: 'field',
  extensions: 'field',
  retry: 'field',
  concurrency: 'field',
  timeoutMs: 'field',
  idempotency: 'field',
  upstream: 'field',
  run: 'function',
  onCanceled: 'function',
} as const satisfies Record<keyof Agent | 'upstream', 'field' | 'function'>;

const namesOf = (kind: 'field' | 'function') =>
  Object.entries(FIELDS).flatMap(([name, value]) => (value === kind ? [name] : []));

/** Returns what is sent of an exported agent; null if it is not an object. A function in place of a field is left out. */
export function toSentAgent(exported: unknown): SentAgent | null {
  if (typeof exported !== 'object' || exported === null) return null;
  const agent = exported as Record<string, unknown>;
  const fields = Object.fromEntries(namesOf('field').map((name) => [name, agent[name]]));
  const functions = namesOf('function');
  for (const name of functions) if (typeof agent[name] !== 'function') fields[name] = agent[name];
  return { fields, functions: functions.filter((name) => typeof agent[name] === 'function') };
}

/** Returns the agent of a process as an object whose functions are calls to the process. It is not validated. */
export function remoteAgent(host: ModuleHost, sent: SentAgent | null, index: number): unknown {
  if (sent === null) return null;
  const remote = Object.fromEntries(
    sent.functions.map((name) => [name, (...args: unknown[]) => host.call(index, name as RemoteFunction, args)]),
  );
  return { ...sent.fields, ...remote };
}
