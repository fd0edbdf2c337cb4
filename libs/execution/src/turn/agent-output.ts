import { randomUUID } from 'node:crypto';
import { DomainError, type Message, type RunOutput } from '@app/domain';
import type { ArtifactInput, MessageInput } from '../agents/agent.contract.js';

/** Returns the message of an agent, with a new id. Errors: InvalidAgentResponse. */
export function toMessage(input: MessageInput, taskId: string): Message {
  const content =
    typeof input === 'string' ? { parts: [{ text: input }] } : 'parts' in input ? input : { parts: input };
  requireParts(content.parts, 'a message', taskId);
  return { messageId: randomUUID(), role: 'agent', ...content, parts: [...content.parts] };
}

/** Returns one chunk of an artifact. `hasStarted`: this run has published the artifact before. Errors: InvalidAgentResponse. */
export function toArtifactOutput(
  input: ArtifactInput,
  hasStarted: (artifactId: string) => boolean,
  taskId: string,
): RunOutput {
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

/** Agent modules may be plain JavaScript, so the types do not guarantee the parts. */
function requireParts(parts: unknown, subject: string, taskId: string): void {
  if (Array.isArray(parts) && parts.length > 0) return;
  throw new DomainError('InvalidAgentResponse', `invalid agent response: ${subject} has no parts`, { taskId });
}
