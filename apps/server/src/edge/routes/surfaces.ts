import { A2A_JSON_MEDIA_TYPE, JSON_MEDIA_TYPE, responseMediaType } from '@app/wire';
import type { FastifyRequest } from 'fastify';
import type { SurfaceName } from './route-config.js';
import { routeConfigOf } from './route-table.js';

/** Returns the surface of the request's path. `other`: no controller serves it. */
export const surfaceOf = (request: FastifyRequest): SurfaceName | 'other' => routeConfigOf(request).surface ?? 'other';

/** Returns the media types that the body of a request may have. */
export const requestMediaTypesOf = (request: FastifyRequest): string[] =>
  surfaceOf(request) === 'a2a-http-json' ? [JSON_MEDIA_TYPE, A2A_JSON_MEDIA_TYPE] : [JSON_MEDIA_TYPE];

/** Returns the media type of a JSON response. */
export const responseMediaTypeOf = (request: FastifyRequest): string =>
  surfaceOf(request) === 'a2a-http-json' ? responseMediaType(request.headers.accept) : JSON_MEDIA_TYPE;
