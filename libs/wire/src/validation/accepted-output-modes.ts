import type { Json } from '@app/domain';
import type { Violations } from './object-reader.js';

/** `configuration.acceptedOutputModes`: media types, as the client wrote them; an empty list accepts everything and is absent. */
export function readAcceptedOutputModes(modes: Json[] | undefined, violations: Violations): string[] | undefined {
  // Not a list at all: its params class has said so.
  if (!Array.isArray(modes)) return undefined;
  modes.forEach((mode, at) => {
    if (typeof mode === 'string' && mode !== '' && mode.length <= 256) return;
    violations.add(`configuration.acceptedOutputModes[${at}]`, 'must be a media type');
  });
  return modes.length === 0 ? undefined : (modes as string[]);
}
