import { DomainError } from '@app/domain';
import type { CardExtension } from '../card-description.js';

/** In a request, the header names the requested extensions; in a response, the activated ones. */
export const EXTENSIONS_HEADER = 'A2A-Extensions';
/** The name of the header in v0.3. */
export const LEGACY_EXTENSIONS_HEADER = 'X-A2A-Extensions';

/**
 * Returns the URIs of the offered extensions that the header requests (A2A v1.0 section 3.2.6, comma-separated URIs). Unknown ones
 * are ignored. Errors: ExtensionSupportRequired if a required one is not requested.
 */
export function activeExtensions(
  header: string | readonly string[] | undefined,
  offered: readonly CardExtension[] = [],
): string[] {
  const requested = (typeof header === 'string' ? [header] : (header ?? []))
    .flatMap((value) => value.split(','))
    .map((uri) => uri.trim());
  const missing = offered.find(({ uri, required }) => required === true && !requested.includes(uri));
  if (missing !== undefined) {
    const message = `the extension ${missing.uri} is required; name it in the ${EXTENSIONS_HEADER} header`;
    throw new DomainError('ExtensionSupportRequired', message, { extension: missing.uri });
  }
  return offered.map(({ uri }) => uri).filter((uri) => requested.includes(uri));
}
