import type { IncomingMessage } from 'node:http';
import { DomainError } from '@app/domain';
import { type RequestError, TransportError, VERSION_HEADER } from '@app/wire';

/** The request headers of this server that are not lists, so that a request can have each of them once (RFC 9110 section 5.3). */
const SINGLE_HEADERS = [
  'Authorization',
  'Content-Length',
  'Content-Type',
  'Host',
  'Idempotency-Key',
  'Last-Event-ID',
  'Origin',
  VERSION_HEADER,
];
const namesInLowerCase = new Map(SINGLE_HEADERS.map((name) => [name.toLowerCase(), name]));

/**
 * Returns the error of a request that has one of these headers twice. Node keeps the first or joins them, and a proxy in front of
 * this server may have used the other one (RFC 9112 section 11.2). `rawHeaders` contains names and values in turn.
 */
export function duplicateHeaderError(rawHeaders: readonly string[]): RequestError | undefined {
  const found = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = namesInLowerCase.get(rawHeaders[index]!.toLowerCase());
    if (header === undefined) continue;
    if (found.has(header)) return errorOf(header);
    found.add(header);
  }
  return undefined;
}

/** Returns the error of a request of HTTP/1.1 without Host (RFC 9112 section 3.2). */
export const missingHostError = ({ httpVersion, headers: { host } }: IncomingMessage): RequestError | undefined =>
  httpVersion === '1.0' || host !== undefined
    ? undefined
    : new TransportError('InvalidRequest', 'Host is required; send it once', {});

function errorOf(header: string): RequestError {
  const message = `${header} is sent more than once; send it once`;
  return header === VERSION_HEADER
    ? new DomainError('VersionNotSupported', message, { version: 'ambiguous' })
    : new TransportError('DuplicateHeader', message, { header });
}
