import { DomainError } from '@app/domain';

export const PROTOCOL_VERSIONS = ['1.0', '0.3'] as const;
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** The request header that alone decides, and the response header that every answer names in `Vary`. */
export const VERSION_HEADER = 'A2A-Version';

/**
 * The protocol version that the `A2A-Version` header asks for (A2A v1.0 section 3.6), deliberately stricter than the spec: an exact match
 * alone, no patch numbers, no query parameter, nothing guessed from the payload. Absent or empty means 0.3. HTTP takes the blanks around
 * a value off before it arrives here; two headers arrive as an array or joined by a comma, and are refused. Throws VersionNotSupported.
 */
export function protocolVersionOf(header: string | readonly string[] | undefined): ProtocolVersion {
  const values = header === undefined ? [] : typeof header === 'string' ? [header] : header;
  const value = values.length === 1 ? values[0]! : values.join(',');
  if (value === '') return '0.3';
  const version = PROTOCOL_VERSIONS.find((known) => known === value);
  if (version !== undefined && values.length === 1) return version;
  const shown = value.slice(0, 40);
  throw new DomainError(
    'VersionNotSupported',
    `A2A version ${JSON.stringify(shown)} is not supported; send ${VERSION_HEADER}: ${PROTOCOL_VERSIONS.join(' or ')}`,
    { version: shown },
  );
}
