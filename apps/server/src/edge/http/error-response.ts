import { BOUNDS, DomainError, type JsonObject } from '@app/domain';
import { encodeError, jsonRpcHttpStatus, native, type RequestError, rest, type RpcId } from '@app/wire';
import { type EdgeRequest, pathOf } from '../callers/edge-request.js';
import type { SurfaceName } from '../routes/route-config.js';
import { surfaceOf } from '../routes/surfaces.js';
import { errorCodecOf, type VersionHeader } from './codecs.js';

interface ErrorResponse {
  readonly status: number;
  readonly body: JsonObject;
}

/** What the format of an error depends on. */
export interface ErrorContext {
  readonly surface: SurfaceName | 'other';
  readonly url: string;
  /** The `A2A-Version` header. */
  readonly version: VersionHeader;
  readonly rpcId?: RpcId;
}

export const errorContextOf = (request: EdgeRequest): ErrorContext => ({
  surface: surfaceOf(request),
  url: request.url,
  version: request.headers['a2a-version'],
  rpcId: request.rpcId,
});

/** Encodes an error in the format of a surface. */
export function encodeErrorFor(context: ErrorContext, error: RequestError): ErrorResponse {
  const codec = errorCodecOf(context.version);
  switch (context.surface) {
    case 'a2a-json-rpc': {
      const body = encodeError(context.rpcId ?? null, codec.rpcError(error));
      return { status: jsonRpcHttpStatus(error), body };
    }
    case 'a2a-http-json':
      return codec.httpError(withDefaultVersion(context, error));
    case 'api':
      return error.kind === 'TaskNotFound' ? apiNotFound(context, error) : native.httpError(error);
    case 'rest':
    case 'discovery':
    case 'operations':
    case 'other':
      return rest.httpError(error);
  }
}

/**
 * Names the version that was assumed because the header is missing. The paths of both versions are the same, so without
 * the header a valid body of 1.0 fails as an incomplete body of 0.3.
 */
function withDefaultVersion({ version: header = '' }: ErrorContext, error: RequestError): RequestError {
  if (header !== '' || !DomainError.is(error, 'InvalidParameters')) return error;
  const { version } = errorCodecOf(header);
  const message = `${error.message} (read as A2A ${version}, because the A2A-Version header is missing)`;
  return new DomainError(error.kind, message, error.details);
}

/** The paths of the worker API below one run. */
const RUN_PATH = /^\/api\/runs\/([^/]+)\//;

/** Workers address runs, not tasks. The response is the same for a missing run and for a run of another key. */
function apiNotFound({ url }: ErrorContext, error: RequestError): ErrorResponse {
  const [, id] = RUN_PATH.exec(pathOf(url)) ?? [];
  if (id === undefined) return native.httpError(error);
  const message = 'run not found: this key has claimed no such run; use the runId of a claim with the same key';
  return {
    status: 404,
    body: { error: message, kind: 'RunNotFound', details: { runId: decodeURIComponent(id).slice(0, BOUNDS.idLength) } },
  };
}
