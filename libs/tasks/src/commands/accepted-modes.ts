import { type AgentProfile, DomainError, type Message, type Part, type RequestConfiguration } from '@app/domain';

/**
 * Throws ContentTypeNotSupported if the agent does not accept the media type of a part, or if it produces none of the media
 * types that the client accepts.
 */
export function requireAcceptedModes(
  agent: AgentProfile,
  message: Message,
  { acceptedOutputModes }: RequestConfiguration,
): void {
  requireAcceptedParts(agent, message);
  requireProducedModes(agent, acceptedOutputModes);
}

function requireAcceptedParts(agent: AgentProfile, message: Message): void {
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

const covers = (mode: string, mediaType: string): boolean => {
  if (mode === '*/*') return true;
  const [type, subtype] = rangeOf(mode);
  const [actualType, actualSubtype] = mediaType.split('/');
  return (type === '*' || type === actualType) && (subtype === '*' || subtype === actualSubtype);
};

/** A list that is empty or absent accepts every type (A2A section 3.2.2). Both sides may have patterns such as `text/*`. */
function requireProducedModes(agent: AgentProfile, accepted: readonly string[] = []): void {
  if (accepted.length === 0) return;
  // Each skill can replace the modes of the agent.
  const produced = [...new Set([agent.outputModes, ...agent.skills.map((skill) => skill.outputModes ?? [])].flat())];
  if (accepted.some((mode) => produced.some((other) => overlap(mode, other)))) return;
  throw new DomainError(
    'ContentTypeNotSupported',
    `agent "${agent.name}" does not produce ${listOf(accepted)}; it produces ${listOf(produced)}`,
    { mediaType: listOf(accepted) },
  );
}

const SHOWN_MODES = 20;

const listOf = (modes: readonly string[]): string =>
  modes.length <= SHOWN_MODES ? modes.join(', ') : `${modes.slice(0, SHOWN_MODES).join(', ')}, …`;

/** Returns whether a media type can match both patterns. */
function overlap(one: string, other: string): boolean {
  const [type, subtype] = rangeOf(one);
  const [otherType, otherSubtype] = rangeOf(other);
  const matches = (a: string, b: string) => a === b || a === '*' || b === '*';
  return matches(type, otherType) && matches(subtype, otherSubtype);
}

/** Returns type and subtype of a pattern, without its parameters. Cards and clients of early versions write `text` for `text/*`. */
function rangeOf(mode: string): readonly [type: string, subtype: string] {
  const [type = '', subtype = '*'] = mode.split(';')[0]!.trim().toLowerCase().split('/');
  return [type, subtype];
}
