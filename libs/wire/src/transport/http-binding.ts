import { invalidField, type Json, type JsonObject } from '@app/domain';
import type { AnyMethod, Operation, Operations } from '../requests.js';
import type { StreamUpdate } from '../task/stream-update.js';
import {
  isObject,
  memberOf,
  shownValue,
  spellingProblem,
  spellingsOf,
  withValue,
} from '../validation/object-reader.js';
import { parseAndCheckJson } from '../json/strict-json.js';
import { type HttpQuery, paramsOfQuery } from './http-query.js';
import { methodNotAllowed, TransportError } from './transport-error.js';

const HTTP_METHODS = ['GET', 'POST', 'DELETE'] as const;
type HttpMethod = (typeof HTTP_METHODS)[number];

/** The operations of one path, by HTTP method. */
type HttpResource = Partial<Record<HttpMethod, AnyMethod>>;

interface CompiledResource {
  readonly pattern: RegExp;
  readonly resource: HttpResource;
}

/** The operation at a path. `decode` combines the ids in the path with the query or the body. */
export interface HttpRoute {
  readonly method: AnyMethod;
  /** Errors: ParseError, InvalidRequest, InvalidParameters. */
  readonly decode: (query: HttpQuery, body: Uint8Array) => Operations[Operation]['request'];
}

/**
 * The HTTP+JSON binding of one version: its paths below the address of the binding, and the encoding of updates. Paths are
 * templates such as `tasks/{id}:cancel`. Each is also valid after `{tenant}/`. Names in braces are params of the operation. The
 * first template that matches is used, so `tasks/{id}:cancel` must precede `tasks/{id}`.
 */
export class HttpBinding {
  private readonly compiled: readonly CompiledResource[];

  constructor(
    /** The operations of each path template. */
    readonly resources: Readonly<Record<string, HttpResource>>,
    /** Encodes the data of one stream frame. */
    readonly encodeUpdate: (update: StreamUpdate) => Json,
  ) {
    const templates = Object.entries(resources);
    this.compiled = [
      ...templates.map(([path, resource]) => ({ pattern: patternOf(path), resource })),
      ...templates.map(([path, resource]) => ({ pattern: patternOf(`{tenant}/${path}`), resource })),
    ];
  }

  /** Finds the operation of an HTTP method and a percent-encoded path. Errors: MethodNotFound, MethodNotAllowed. */
  route(httpMethod: string, path: string): HttpRoute {
    for (const { pattern, resource } of this.compiled) {
      const match = pattern.exec(path);
      if (match === null) continue;
      const allowed = HTTP_METHODS.filter((candidate) => resource[candidate] !== undefined);
      const found = allowed.find((candidate) => candidate === httpMethod);
      if (found === undefined) throw methodNotAllowed(httpMethod, allowed);
      return routeTo(resource[found]!, found, decodedSegments(match.groups ?? {}));
    }
    const method = `${httpMethod} ${path}`.slice(0, 200);
    throw new TransportError('MethodNotFound', `${method}: no operation has this path; check the path`, { method });
  }
}

/** Compiles a template. A name in braces matches all characters except a slash, so an id can contain colons. */
const patternOf = (template: string): RegExp => new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

function routeTo(method: AnyMethod, httpMethod: HttpMethod, { tenant, ...ids }: Record<string, string>): HttpRoute {
  return {
    method,
    decode: (query, body) => {
      const params = httpMethod === 'POST' ? bodyParams(method, body) : paramsOfQuery(query, QUERY_TYPES);
      const inPath = tenant === undefined ? ids : { ...ids, tenant };
      const request = method.decode({ ...withoutRepeated(params, inPath), ...ids });
      return tenant === undefined ? request : { ...request, tenant };
    },
  };
}

/** The query parameters of the operations that are not strings. */
const QUERY_TYPES = {
  integers: ['historyLength', 'history_length', 'pageSize', 'page_size'],
  booleans: ['includeArtifacts', 'include_artifacts'],
};

function decodedSegments(segments: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(segments).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, decodedSegment(name, value)]],
    ),
  );
}

function decodedSegment(name: string, segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidField(name, withValue('must be percent-encoded UTF-8', segment));
  }
}

/** The operations of POST whose params are all in the path. The Go SDK sends `null` as their body. */
const WITHOUT_BODY: ReadonlySet<Operation> = new Set<Operation>(['cancelTask', 'subscribeToTask']);

/** Parses a body. An empty one is accepted, because some operations have no required field in the body. */
function bodyParams({ operation }: AnyMethod, body: Uint8Array): JsonObject {
  if (body.length === 0) return {};
  const value = parseAndCheckJson(body);
  if (isObject(value)) return value;
  if (value === null && WITHOUT_BODY.has(operation)) return {};
  throw new TransportError('InvalidRequest', withValue('the body must be a JSON object', value), {});
}

/**
 * Returns the params of a body or query without those that the path has, too. Errors: InvalidParameters if their values differ,
 * because the difference is a mistake of the client.
 */
function withoutRepeated(params: JsonObject, inPath: Record<string, string>): JsonObject {
  const rest = { ...params };
  for (const [name, value] of Object.entries(inPath)) {
    const problem = spellingProblem(params, name, 'camel-or-snake');
    if (problem !== undefined) throw invalidField(name, problem);
    for (const spelling of spellingsOf(name, 'camel-or-snake')) {
      const other = memberOf(params, spelling, 'camel');
      if (other !== undefined && other !== '' && other !== value) {
        throw invalidField(name, withValue(`must be ${shownValue(value)} as in the path`, other));
      }
      delete rest[spelling];
    }
  }
  return rest;
}
