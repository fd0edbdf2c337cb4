import { DomainError } from '@app/domain';

export const PROTOCOL_VERSIONS = ['1.0', '0.3'] as const;
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** The request header that selects the protocol version. Responses name it in `Vary`. */
export const VERSION_HEADER = 'A2A-Version';

/** The version of a request without the header (A2A v1.0 section 3.6). */
const DEFAULT_VERSION = '0.3';

/**
 * Returns the protocol version that the `A2A-Version` header names (A2A v1.0 section 3.6). It is stricter than the spec: only an exact
 * match counts, without patch numbers, query parameters or a guess from the payload. HTTP strips whitespace around the value. Two
 * headers arrive as an array or joined by a comma, and are rejected. Errors: VersionNotSupported.
 */
export function protocolVersionOf(header: string | readonly string[] | undefined): ProtocolVersion {
  const values = header === undefined ? [] : typeof header === 'string' ? [header] : header;
  const value = values.length === 1 ? values[0]! : values.join(',');
  const requested = value === '' ? DEFAULT_VERSION : value;
  const version = PROTOCOL_VERSIONS.find((supported) => supported === requested);
  if (version !== undefined) return version;
  const shown = requested.slice(0, 40);
  throw new DomainError(
    'VersionNotSupported',
    `A2A version ${JSON.stringify(shown)} is not supported; send ${VERSION_HEADER}: ${PROTOCOL_VERSIONS.join(' or ')}`,
    { version: shown },
  );
}
