import { type AgentProfile, DomainError, type Message, type Part } from '@app/domain';

/** Throws ContentTypeNotSupported if the agent does not accept the media type of a part. */
export function requireAcceptedParts(agent: AgentProfile, message: Message): void {
  for (const part of message.parts) {
    const mediaType = mediaTypeOf(part);
    if (mediaType === null || agent.inputModes.some((mode) => covers(mode, mediaType))) continue;
    throw new DomainError(
      'ContentTypeNotSupported',
      `agent "${agent.name}" does not accept ${mediaType}; it accepts ${agent.inputModes.join(', ')}`,
      { mediaType },
    );
  }
}

/** Returns the media type of a part. Null: a file without one, which every agent accepts. */
function mediaTypeOf(part: Part): string | null {
  if (part.mediaType !== undefined && part.mediaType !== '') return part.mediaType.split(';')[0]!.trim().toLowerCase();
  if (part.text !== undefined) return 'text/plain';
  return part.data === undefined ? null : 'application/json';
}

function covers(mode: string, mediaType: string): boolean {
  const pattern = mode.toLowerCase();
  if (pattern === '*' || pattern === '*/*') return true;
  return pattern.endsWith('/*') ? mediaType.startsWith(pattern.slice(0, -1)) : pattern === mediaType;
}
