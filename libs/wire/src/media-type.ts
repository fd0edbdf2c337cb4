import { DomainError } from '@app/domain';

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
  new DomainError('UnsupportedMediaType', `unsupported media type: ${how}`, {
    mediaType: contentType.slice(0, 100),
  });
