import { TransportError } from './transport-error.js';

/** The media type of JSON-RPC and of the simple REST. */
export const JSON_MEDIA_TYPE = 'application/json';
/** A2A's HTTP+JSON binding accepts this media type, too (A2A v1.0 section 11.1). */
export const A2A_JSON_MEDIA_TYPE = 'application/a2a+json';
/** The media type of server-sent events. */
export const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

const TYPE = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?$/i;

/**
 * Checks the headers of a request with a body: one of the accepted media types, with no parameter except `charset=utf-8`, and no
 * content encoding. Errors: UnsupportedMediaType.
 */
export function checkMediaType(
  headers: { contentType: string | undefined; contentEncoding?: string | undefined },
  accepted: readonly string[] = [JSON_MEDIA_TYPE],
): void {
  const { contentType = '', contentEncoding = '' } = headers;
  const type = TYPE.exec(contentType.trim())?.[1]?.toLowerCase();
  if (type === undefined || !accepted.includes(type)) {
    const problem = contentType === '' ? 'is required' : `${shown(contentType)} is not supported`;
    throw unsupported(contentType, `Content-Type: ${problem}; send ${accepted.join(' or ')} in UTF-8`);
  }
  if (!['', 'identity'].includes(contentEncoding.trim().toLowerCase())) {
    const problem = `${shown(contentEncoding)} is not supported`;
    throw unsupported(contentType, `Content-Encoding: ${problem}; send the body without a content encoding`);
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
