import { withValue } from './object-reader.js';

/*
 * The rules for the strings of a part that other programs interpret. Each returns why a string is invalid, or undefined.
 */

const MAX_MEDIA_TYPE_LENGTH = 256;
const MAX_FILENAME_LENGTH = 1_024;

/** A type and a subtype (RFC 9110 section 8.3.1), then parameters of printable ASCII. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: *;[\x20-\x7e]*)?$/;

export function mediaTypeProblem(value: string): string | undefined {
  if (value.length > MAX_MEDIA_TYPE_LENGTH) {
    return `must have at most ${MAX_MEDIA_TYPE_LENGTH} characters, not ${value.length}`;
  }
  return MEDIA_TYPE.test(value) ? undefined : withValue('must be a media type such as text/plain', value);
}

/** A name without control characters and line breaks. Names in any language and with emoji are valid. */
export function filenameProblem(value: string): string | undefined {
  if (value.length > MAX_FILENAME_LENGTH) {
    return `must have at most ${MAX_FILENAME_LENGTH} characters, not ${value.length}`;
  }
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)
    ? withValue('must not contain control characters and line breaks', value)
    : undefined;
}

/** Schemes that a browser executes or that name a file of the reader. */
const UNSAFE_SCHEMES = new Set([
  'javascript:',
  'vbscript:',
  'data:',
  'blob:',
  'file:',
  'filesystem:',
  'about:',
  'view-source:',
  'intent:',
]);

/** An absolute URL with a host, such as `https://host/path` or `gs://bucket/path`. Another program opens it. */
export function contentUrlProblem(value: string): string | undefined {
  const url = !/[\s\p{C}]/u.test(value) && URL.canParse(value) ? new URL(value) : undefined;
  const isValid = url !== undefined && url.host !== '' && !UNSAFE_SCHEMES.has(url.protocol);
  return isValid
    ? undefined
    : withValue('must be an absolute URL with a host, such as https://example.com/file', value);
}
