import type { ArtifactContent, Message, Part } from '../content.js';

/** Why content is missing: its key was destroyed, or the stored bytes cannot be read. */
export type MissingContent = 'erased' | 'unreadable';

/** States why a view does not show content, and the ids that find the content. A wire adds the address. */
export interface Placeholder {
  readonly reason: MissingContent | 'too-large';
  readonly taskId: string;
  /** The artifact whose parts are not shown; absent for a message. */
  readonly artifactId?: string;
  /** Number of parts that are not shown, if known. */
  readonly parts?: number;
}

/** A part of a view: content, or a placeholder for content. */
export interface ViewPart extends Part {
  placeholder?: Placeholder;
}

/** Upper bound of the bytes of a placeholder on a wire, without its ids. */
const PLACEHOLDER_BYTES = 128;

/** Returns an upper bound of the bytes of a placeholder on a wire, where a URL may contain its ids percent-encoded. */
export const placeholderBytes = ({ taskId, artifactId = '' }: Placeholder): number =>
  PLACEHOLDER_BYTES + encodeURIComponent(taskId).length + encodeURIComponent(artifactId).length;

export const placeholderPart = (placeholder: Placeholder): ViewPart => ({ placeholder });

/** Returns a message with a placeholder instead of its parts. */
export const messagePlaceholder = (
  taskId: string,
  { messageId, role }: Pick<Message, 'messageId' | 'role'>,
  reason: Placeholder['reason'],
): Message => ({ messageId, role, parts: [placeholderPart({ reason, taskId })] });

/** Returns an artifact chunk as a stream shows it: a placeholder if the content of the chunk is missing. */
export const visibleChunk = (
  taskId: string,
  artifactId: string,
  chunk: ArtifactContent | undefined,
  missing: MissingContent = 'erased',
): ArtifactContent => chunk ?? { parts: [placeholderPart({ reason: missing, taskId, artifactId })] };
