import { DomainError } from '@app/domain';
import { CancelRequested, RunTimeout } from '../../agents/agent.contract.js';
import type { SentError } from './protocol.js';

/** Returns what the other process needs to know of an error. A value that is no Error is described by its text. */
export function toSentError(error: unknown): SentError {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(textOf(error));
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return { kind: kindOf(error), name, text: message, frames: frames.join('\n'), retryable: isRetryable(error) };
}

/** Returns an error of the same class, as far as the agent contract names classes. */
export function fromSentError({ kind, name, text, frames, retryable }: SentError, taskId: string): Error {
  const error = withKind(kind, text, taskId);
  if (kind === 'error') error.name = name;
  error.stack = `${error.name}: ${text}\n${frames}`;
  return retryable ? Object.assign(error, { retryable }) : error;
}

function withKind(kind: SentError['kind'], text: string, taskId: string): Error {
  switch (kind) {
    case 'cancel':
      return new CancelRequested(text);
    case 'timeout':
      return new RunTimeout(text);
    case 'fenced':
      return new DomainError('Fenced', text, { taskId, leaseGeneration: 0, dispatcherGeneration: 0 });
    case 'invalid-response':
      return new DomainError('InvalidAgentResponse', text, { taskId });
    case 'error':
      return new Error(text);
  }
}

function kindOf(error: unknown): SentError['kind'] {
  if (error instanceof CancelRequested) return 'cancel';
  if (error instanceof RunTimeout) return 'timeout';
  if (DomainError.is(error, 'Fenced')) return 'fenced';
  return DomainError.is(error, 'InvalidAgentResponse') ? 'invalid-response' : 'error';
}

/** An object without a prototype has no text. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'the agent threw a value without a text';
  }
}

const isRetryable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && (error as { retryable?: unknown }).retryable === true;
