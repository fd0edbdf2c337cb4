import { A2A_JSON_MEDIA_TYPE, JSON_MEDIA_TYPE, responseMediaType } from '@app/wire';
import type { EdgeRequest } from '../callers/edge-request.js';

/** The path prefixes of each surface. The first match counts. */
const SURFACES = [
  ['a2a-http-json', /^\/a2a\/v1(\/|$)/],
  ['a2a-json-rpc', /^\/a2a\/?$/],
  ['rest', /^\/a2a\//],
  ['api', /^\/api\//],
  ['discovery', /^\/\.well-known\//],
  ['operations', /^\/(health|metrics)(\/|$)/],
] as const satisfies readonly (readonly [string, RegExp])[];

/** A group of paths with one error format. `other` are the paths that no controller serves. */
type Surface = (typeof SURFACES)[number][0] | 'other';

type WithUrl = Pick<EdgeRequest, 'url'>;

/** Returns the surface of the request's path. */
export function surfaceOf(request: WithUrl): Surface {
  const path = pathOf(request.url);
  return SURFACES.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other';
}

/** Paths that need no credential: discovery, also under the path of an unknown agent, and health. */
const PUBLIC = [/^(\/agents\/[^/]+)?\/\.well-known\//, /^\/health(\/|$)/];

export const isPublic = (request: WithUrl): boolean => PUBLIC.some((path) => path.test(pathOf(request.url)));

export const isMetrics = (request: WithUrl): boolean => /^\/metrics\/?$/.test(pathOf(request.url));

/** Returns the media types that the body of a request may have. */
export const requestMediaTypesOf = (request: WithUrl): string[] =>
  surfaceOf(request) === 'a2a-http-json' ? [JSON_MEDIA_TYPE, A2A_JSON_MEDIA_TYPE] : [JSON_MEDIA_TYPE];

/** Returns the media type of a JSON response. */
export const responseMediaTypeOf = (request: EdgeRequest): string =>
  surfaceOf(request) === 'a2a-http-json' ? responseMediaType(request.headers.accept) : JSON_MEDIA_TYPE;

/** Returns the path below the base path of the HTTP+JSON binding, percent-encoded as it was sent. */
export const httpJsonPathOf = (request: WithUrl): string =>
  pathOf(request.url)
    .replace(/^\/a2a\/v1(?:\/|$)/, '')
    .replace(/\/$/, '');

/** Returns the path of a URL without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0]!;
