import { randomUUID } from 'node:crypto';
import { DomainError, type Message, type RunOutput, type UpstreamTask } from '@app/domain';
import type { ArtifactInput, MessageInput } from '../agents/agent.contract.js';

/** Returns the message of an agent, with a new id. `method` is what the agent called. Errors: InvalidAgentResponse. */
export function toMessage(input: MessageInput, taskId: string, method = 'fail'): Message {
  const content = contentOf(input);
  if (content === null) {
    throw invalidOutput(`${method}() needs a message: a text, an array of parts, or an object with parts`, taskId);
  }
  requireParts(content.parts, `the message of ${method}()`, taskId);
  return { messageId: randomUUID(), role: 'agent', ...content, parts: [...content.parts] };
}

/** Returns one chunk of an artifact. `hasStarted`: this run has published the artifact before. Errors: InvalidAgentResponse. */
export function toArtifactOutput(
  input: ArtifactInput,
  hasStarted: (artifactId: string) => boolean,
  taskId: string,
): RunOutput {
  if (!isObject(input)) throw invalidOutput('artifact() needs an object with parts', taskId);
  const { id = 'artifact', append, last = false, ...content } = input;
  requireParts(content.parts, `artifact "${id}"`, taskId);
  return {
    type: 'artifact',
    artifactId: id,
    artifact: { ...content, parts: [...content.parts] },
    append: append !== false && hasStarted(id),
    last,
  };
}

/** Returns the ids of an upstream task. Errors: InvalidAgentResponse. */
export function toUpstreamTask(input: UpstreamTask, taskId: string): UpstreamTask {
  if (!isObject(input)) throw invalidOutput('attach() needs an object with taskId, contextId and messageId', taskId);
  return { taskId: input.taskId, contextId: input.contextId, messageId: input.messageId };
}

// Agent modules may be plain JavaScript, so the types do not guarantee what they pass.

function contentOf(input: unknown): Pick<Message, 'parts' | 'metadata' | 'extensions'> | null {
  if (typeof input === 'string') return { parts: [{ text: input }] };
  if (Array.isArray(input)) return { parts: input };
  return isObject(input) && 'parts' in input ? (input as unknown as Pick<Message, 'parts'>) : null;
}

function requireParts(parts: unknown, subject: string, taskId: string): void {
  if (!Array.isArray(parts) || parts.length === 0) throw invalidOutput(`${subject} has no parts`, taskId);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const invalidOutput = (problem: string, taskId: string) =>
  new DomainError('InvalidAgentResponse', `invalid agent response: ${problem}`, { taskId });
