import { BOUNDS, quoted } from '@app/domain';
import {
  type A2aCodec,
  type AnyMethod,
  type HttpRoute,
  type Operation,
  PROTOCOLS,
  type ProtocolVersion,
  protocolVersionOf,
  TransportError,
} from '@app/wire';
import { type EdgeRequest, pathOf } from '../callers/edge-request.js';

const CODECS = Object.values(PROTOCOLS).map(({ codec }) => codec);

export const codecFor = (version: ProtocolVersion): A2aCodec => PROTOCOLS[version].codec;

/** Returns the codec of the version in the request's header. Errors: VersionNotSupported. */
export const codecOf = (request: EdgeRequest): A2aCodec => codecFor(protocolVersionOf(request.headers['a2a-version']));

/** The `A2A-Version` header of a request. */
export type VersionHeader = string | readonly string[] | undefined;

/** Returns the codec for an error response: that of version 1.0 if the requested version is not supported. */
export function errorCodecOf(version: VersionHeader): A2aCodec {
  try {
    return codecFor(protocolVersionOf(version));
  } catch {
    return codecFor('1.0');
  }
}

/** Returns a JSON-RPC method of a version. Errors: MethodNotFound. */
export function rpcMethodOf(codec: A2aCodec, name: string): AnyMethod {
  const method = codec.methods.get(name);
  if (method !== undefined) return method;
  const message = `A2A ${codec.version} has no method ${quoted(name)}; ${suggestVersionForMethod(codec, name)}`;
  throw new TransportError('MethodNotFound', message, { method: name.slice(0, BOUNDS.idLength) });
}

/** Whether a version has a JSON-RPC method of this name whose response is a stream. */
export const isStreamingMethod = (name: string): boolean =>
  CODECS.some(({ methods }) => STREAMING.has(methods.get(name)?.operation));

const STREAMING: ReadonlySet<Operation | undefined> = new Set<Operation>(['streamMessage', 'subscribeToTask']);

/** Names the version that has a method, or the methods of this version. The server never changes the version itself. */
function suggestVersionForMethod(codec: A2aCodec, method: string): string {
  const other = CODECS.find(({ methods }) => methods.has(method));
  return other === undefined ? `it has ${[...codec.methods.keys()].join(', ')}` : suggestVersion(other);
}

const suggestVersion = ({ version }: A2aCodec): string => `A2A ${version} has it: send A2A-Version: ${version}`;

/** Returns the route of a request to the HTTP+JSON binding. Errors: MethodNotAllowed, MethodNotFound. */
export function httpRouteOf(codec: A2aCodec, request: EdgeRequest): HttpRoute {
  // The response to HEAD is that to GET without its body (RFC 9110 section 9.3.2), which Node omits.
  const verb = request.method === 'HEAD' ? 'GET' : request.method;
  const routeIn = ({ http }: A2aCodec) => http.route(verb, httpJsonPathOf(request));
  try {
    return routeIn(codec);
  } catch (error) {
    if (!TransportError.is(error, 'MethodNotFound')) throw error;
    const other = CODECS.find((candidate) => candidate !== codec && hasRoute(candidate, routeIn));
    const hint =
      other === undefined
        ? 'among the paths below /a2a/v1 are message:send, message:stream, tasks/{id} and tasks/{id}:cancel'
        : suggestVersion(other);
    throw new TransportError('MethodNotFound', `A2A ${codec.version} has no such path; ${hint}`, error.details);
  }
}

/** Returns the path below the base path of the HTTP+JSON binding, percent-encoded as it was sent. */
const httpJsonPathOf = ({ url }: EdgeRequest): string =>
  pathOf(url)
    .replace(/^\/a2a(?:\/http-json)?\/v1(?:\/|$)/, '')
    .replace(/\/$/, '');

function hasRoute(codec: A2aCodec, routeIn: (codec: A2aCodec) => HttpRoute): boolean {
  try {
    routeIn(codec);
    return true;
  } catch {
    return false;
  }
}
