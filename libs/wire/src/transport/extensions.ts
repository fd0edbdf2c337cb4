import { DomainError } from '@app/domain';
import type { CardExtension } from '../card-description.js';
import { uriProblem } from '../validation/object-reader.js';

/** In a request, the header names the requested extensions; in a response, the activated ones. */
export const EXTENSIONS_HEADER = 'A2A-Extensions';
/** The name of the header in v0.3. */
export const LEGACY_EXTENSIONS_HEADER = 'X-A2A-Extensions';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Returns the value of the header that names extensions, and the header's name. A client of v0.3 sends the legacy header; a
 * client that sends both means the current one.
 */
function extensionsHeaderOf(headers: Headers): { readonly name: string; readonly value: string } {
  const current = headers['a2a-extensions'];
  const legacy = headers['x-a2a-extensions'];
  if (current === undefined && legacy === undefined) return { name: EXTENSIONS_HEADER, value: '' };
  const name = current === undefined ? LEGACY_EXTENSIONS_HEADER : EXTENSIONS_HEADER;
  return { name, value: [current ?? legacy ?? []].flat().join(',') };
}

/** Returns the URIs that a request names, each once (A2A v1.0 section 3.2.6: separated by commas). Malformed ones are omitted. */
export function requestedExtensions(headers: Headers): string[] {
  const { value } = extensionsHeaderOf(headers);
  if (value === '') return [];
  const uris = value
    .split(',')
    .map((uri) => uri.trim())
    .filter((uri) => /^[\x21-\x7e]+$/.test(uri) && uriProblem(uri) === undefined);
  return [...new Set(uris)];
}

/**
 * Returns the URIs of the offered extensions that a request names, and the header of the response that lists them. Unknown ones
 * are ignored. Errors: ExtensionSupportRequired if a required one is not named.
 */
export function activeExtensions(
  headers: Headers,
  offered: readonly CardExtension[] = [],
): { readonly header: string; readonly uris: readonly string[] } {
  const requested = requestedExtensions(headers);
  const missing = offered.find(({ uri, required }) => required === true && !requested.includes(uri));
  if (missing !== undefined) {
    const message = `the extension ${missing.uri} is required; name it in the ${EXTENSIONS_HEADER} header`;
    throw new DomainError('ExtensionSupportRequired', message, { extension: missing.uri });
  }
  const uris = offered.map(({ uri }) => uri).filter((uri) => requested.includes(uri));
  return { header: extensionsHeaderOf(headers).name, uris };
}
