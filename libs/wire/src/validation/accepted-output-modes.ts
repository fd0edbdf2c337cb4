import type { Json } from '@app/domain';
import { type Violations, withValue } from './object-reader.js';

const MAX_MEDIA_TYPE_LENGTH = 256;

/** Names such as `text` are not media types, but clients send them. */
const isPrintable = (mode: string): boolean => /^[\x20-\x7e]+$/.test(mode);

/**
 * Reads `configuration.acceptedOutputModes`: media types as the client wrote them. An empty list accepts every type and counts as
 * absent.
 */
export function readAcceptedOutputModes(modes: Json[] | undefined, violations: Violations): string[] | undefined {
  // The params class has already added a violation for a value that is not an array.
  if (!Array.isArray(modes)) return undefined;
  modes.forEach((mode, index) => {
    if (typeof mode === 'string' && isPrintable(mode) && mode.length <= MAX_MEDIA_TYPE_LENGTH) return;
    violations.add(`configuration.acceptedOutputModes[${index}]`, withValue('must be a media type', mode));
  });
  return modes.length === 0 ? undefined : (modes as string[]);
}
