import { TransportError } from './transport-error.js';

/** The media type of JSON-RPC and of the simple REST. */
export const JSON_MEDIA_TYPE = 'application/json';
/** A2A's HTTP+JSON binding accepts this media type, too (A2A v1.0 section 11.1). */
export const A2A_JSON_MEDIA_TYPE = 'application/a2a+json';
/** The media type of server-sent events. */
export const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

/**
 * Checks the headers of a request with a body: one of the accepted media types, in UTF-8, without a content encoding. Empty, unknown
 * and malformed parameters of the media type are ignored (RFC 9110 section 5.6.6). Errors: UnsupportedMediaType.
 */
export function checkMediaType(
  headers: { contentType: string | undefined; contentEncoding?: string | undefined },
  accepted: readonly string[] = [JSON_MEDIA_TYPE],
): void {
  const { contentType = '', contentEncoding = '' } = headers;
  const [type = '', ...parameters] = splitParameters(contentType);
  if (!accepted.includes(type.trim().toLowerCase())) {
    const problem = contentType === '' ? 'is required' : `${shown(contentType)} is not supported`;
    throw unsupported(contentType, `Content-Type: ${problem}; send ${accepted.join(' or ')} in UTF-8`);
  }
  const charset = parameters.map(charsetOf).find((label) => label !== '' && !isUtf8(label));
  if (charset !== undefined) {
    throw unsupported(contentType, `Content-Type: the charset ${shown(charset)} is not supported; send UTF-8`);
  }
  if (!['', 'identity'].includes(contentEncoding.trim().toLowerCase())) {
    const problem = `${shown(contentEncoding)} is not supported`;
    throw unsupported(contentType, `Content-Encoding: ${problem}; send the body without a content encoding`);
  }
}

/** Splits a media type at the semicolons outside quoted strings (RFC 9110 sections 5.6.4 and 5.6.6). */
function splitParameters(header: string): string[] {
  const items: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let offset = 0; offset <= header.length; offset += 1) {
    const char = header[offset];
    if (char === undefined || (char === ';' && !isQuoted)) {
      items.push(header.slice(start, offset));
      start = offset + 1;
    } else if (char === '"') isQuoted = !isQuoted;
    else if (char === '\\' && isQuoted) offset += 1;
  }
  return items;
}

/** Returns the value of a parameter if it is the charset, else an empty string. */
function charsetOf(parameter: string): string {
  const [name = '', ...rest] = parameter.split('=');
  if (name.trim().toLowerCase() !== 'charset') return '';
  const value = rest.join('=').trim();
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}

/** Whether a label is one of the names of UTF-8, such as `utf8` (WHATWG Encoding section 4.2). */
function isUtf8(label: string): boolean {
  try {
    return new TextDecoder(label).encoding === 'utf-8';
  } catch {
    return false;
  }
}

const unsupported = (contentType: string, message: string) =>
  new TransportError('UnsupportedMediaType', message, { mediaType: contentType.slice(0, 100) });

const shown = (header: string): string => JSON.stringify(header.slice(0, 100));

/**
 * Returns the media type of an HTTP+JSON response (RFC 9110 section 12.5.1): `application/json`, unless `Accept` gives
 * `application/a2a+json` a higher quality.
 */
export function responseMediaType(accept: string | undefined): string {
  const jsonQuality = qualityOf(accept, [JSON_MEDIA_TYPE, 'application/*', '*/*']);
  return qualityOf(accept, [A2A_JSON_MEDIA_TYPE]) > jsonQuality ? A2A_JSON_MEDIA_TYPE : JSON_MEDIA_TYPE;
}

/**
 * Whether `Accept` names event streams, and prefers them to JSON (RFC 9110 section 12.5.1). A wildcard of the same quality does not
 * count, because some HTTP clients add it to the media type that their caller wants.
 */
export function prefersEventStream(accept: string | undefined): boolean {
  const quality = qualityOf(accept, [EVENT_STREAM_MEDIA_TYPE]);
  return quality > qualityOf(accept, [JSON_MEDIA_TYPE, 'application/*']) && quality >= qualityOf(accept, ['*/*']);
}

/** Returns the quality that `Accept` gives to the first of these ranges that it names, or 0. */
function qualityOf(accept: string | undefined, ranges: readonly string[]): number {
  const named = (accept ?? '').split(',').map((item) => item.split(';').map((field) => field.trim().toLowerCase()));
  for (const range of ranges) {
    const item = named.find(([name]) => name === range);
    if (item === undefined) continue;
    const quality = Number(item.find((field) => field.startsWith('q='))?.slice(2) ?? 1);
    return Number.isNaN(quality) ? 1 : quality;
  }
  return 0;
}
