import { TransportError } from './transport-error.js';

/** JSON-RPC and the simple REST take the first alone; A2A's HTTP+JSON binding takes both (A2A v1.0 section 11.1). */
export const JSON_MEDIA_TYPE = 'application/json';
export const A2A_JSON_MEDIA_TYPE = 'application/a2a+json';

const TYPE = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?$/i;

/**
 * Checks the headers of a request with a body: exactly one of the accepted media types, with no parameter but
 * `charset=utf-8`, and no content encoding. Throws UnsupportedMediaType.
 */
export function checkMediaType(
  headers: { contentType: string | undefined; contentEncoding?: string | undefined },
  accepted: readonly string[] = [JSON_MEDIA_TYPE],
): void {
  const { contentType = '', contentEncoding = '' } = headers;
  const type = TYPE.exec(contentType.trim())?.[1]?.toLowerCase();
  if (type === undefined || !accepted.includes(type)) {
    throw unsupported(contentType, `send the body as ${accepted.join(' or ')}, in UTF-8`);
  }
  if (!['', 'identity'].includes(contentEncoding.trim().toLowerCase())) {
    throw unsupported(contentType, 'send the body without a content encoding');
  }
}

const unsupported = (contentType: string, how: string) =>
  new TransportError('UnsupportedMediaType', `unsupported media type: ${how}`, {
    mediaType: contentType.slice(0, 100),
  });

/**
 * Which of the two an HTTP+JSON answer is written as (RFC 9110 section 12.5.1): the plain one, unless `Accept` names the other and
 * does not rank the plain one as high.
 */
export function responseMediaType(accept: string | undefined): string {
  const plain = qualityOf(accept, [JSON_MEDIA_TYPE, 'application/*', '*/*']);
  return qualityOf(accept, [A2A_JSON_MEDIA_TYPE]) > plain ? A2A_JSON_MEDIA_TYPE : JSON_MEDIA_TYPE;
}

/** The quality that `Accept` gives to the first of these ranges that it names. */
function qualityOf(accept: string | undefined, ranges: readonly string[]): number {
  const named = (accept ?? '').split(',').map((item) => item.split(';').map((piece) => piece.trim().toLowerCase()));
  for (const range of ranges) {
    const item = named.find(([name]) => name === range);
    if (item === undefined) continue;
    const quality = Number(item.find((piece) => piece.startsWith('q='))?.slice(2) ?? 1);
    return Number.isNaN(quality) ? 1 : quality;
  }
  return 0;
}
