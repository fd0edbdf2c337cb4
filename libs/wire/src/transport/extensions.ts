import { DomainError } from '@app/domain';
import type { CardExtension } from '../card-description.js';

/** Header that names the extensions a client wants, and the ones that the answer used; v0.3 clients know the second. */
export const EXTENSIONS_HEADER = 'A2A-Extensions';
export const LEGACY_EXTENSIONS_HEADER = 'X-A2A-Extensions';

/**
 * Which extensions of the card a request activates: those that its header names (A2A v1.0 section 3.2.6, comma-separated URIs).
 * The answer echoes them. Unknown ones are ignored. Throws ExtensionSupportRequired for a required one that is not named.
 */
export function activeExtensions(
  header: string | readonly string[] | undefined,
  offered: readonly CardExtension[] = [],
): string[] {
  const named = (typeof header === 'string' ? [header] : (header ?? []))
    .flatMap((value) => value.split(','))
    .map((uri) => uri.trim());
  const missing = offered.find(({ uri, required }) => required === true && !named.includes(uri));
  if (missing !== undefined) {
    const how = `name it in the ${EXTENSIONS_HEADER} header`;
    throw new DomainError('ExtensionSupportRequired', `the extension ${missing.uri} is required; ${how}`, {
      extension: missing.uri,
    });
  }
  return offered.map(({ uri }) => uri).filter((uri) => named.includes(uri));
}
