import { invalidField, type Json, type JsonObject } from '@app/domain';
import { paramsOfQuery, type HttpQuery } from './http-query.js';
import { TransportError } from './transport-error.js';
import { isObject, memberOf } from '../validation/object-reader.js';
import type { AnyMethod, Operation, Operations } from '../requests.js';
import type { StreamUpdate } from '../stream-update.js';
import { parseAndCheckJson } from '../validation/strict-json.js';

const VERBS = ['GET', 'POST', 'DELETE'] as const;

/** What the HTTP methods of one path do. */
export type HttpResource = Partial<Record<(typeof VERBS)[number], AnyMethod>>;

interface CompiledResource {
  readonly pattern: RegExp;
  readonly resource: HttpResource;
}

/** One method that was found by its path, still without what query and body say. */
export interface HttpRoute {
  readonly method: AnyMethod;
  /** Errors: ParseError, InvalidRequest, InvalidParameters. */
  readonly decode: (query: HttpQuery, body: Uint8Array) => Operations[Operation]['request'];
}

/**
 * The HTTP+JSON binding of one version: its paths, below the binding's address, and how it writes updates. Paths are templates
 * such as `tasks/{id}:cancel`, each also with `{tenant}/` before; names in braces are params of the method. The first template that
 * fits is meant, so those with a verb stand before those without. What is not here does not exist in the version.
 */
export class HttpBinding {
  private readonly resources: readonly CompiledResource[];

  constructor(
    resources: Readonly<Record<string, HttpResource>>,
    /** The data of one stream frame. */
    readonly encodeUpdate: (update: StreamUpdate) => Json,
  ) {
    const templates = Object.entries(resources);
    this.resources = [
      ...templates.map(([path, resource]) => ({ pattern: patternOf(path), resource })),
      ...templates.map(([path, resource]) => ({ pattern: patternOf(`{tenant}/${path}`), resource })),
    ];
  }

  /** Finds what `path`, percent-encoded as it was sent, and the HTTP method mean. Errors: MethodNotFound, MethodNotAllowed. */
  route(verb: string, path: string): HttpRoute {
    for (const { pattern, resource } of this.resources) {
      const match = pattern.exec(path);
      if (match === null) continue;
      const allowed = VERBS.filter((known) => resource[known] !== undefined);
      const found = allowed.find((known) => known === verb);
      if (found === undefined) throw notAllowed(verb, allowed.join(', '));
      return routeTo(resource[found]!, found, decodedSegments(match.groups ?? {}));
    }
    throw new TransportError('MethodNotFound', 'there is nothing at this path', {
      method: `${verb} ${path}`.slice(0, 200),
    });
  }
}

/** A segment in braces takes everything but a slash: the verb after a colon is never part of an id that stands before it. */
const patternOf = (template: string): RegExp => new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

function routeTo(method: AnyMethod, verb: string, { tenant, ...ids }: Record<string, string>): HttpRoute {
  return {
    method,
    decode: (query, body) => {
      const said = verb === 'POST' ? objectOf(body) : paramsOfQuery(query);
      refuseContradictions(said, { ...ids, ...(tenant === undefined ? {} : { tenant }) });
      const request = method.decode({ ...said, ...ids });
      return tenant === undefined ? request : { ...request, tenant };
    },
  };
}

function decodedSegments(segments: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(segments).flatMap(([name, value]) => (value === undefined ? [] : [[name, decoded(name, value)]])),
  );
}

function decoded(name: string, segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidField(name, 'must be UTF-8, percent-encoded');
  }
}

/** A body may be left out where nothing in it is required. */
function objectOf(body: Uint8Array): JsonObject {
  if (body.length === 0) return {};
  const value = parseAndCheckJson(body);
  if (!isObject(value)) throw new TransportError('InvalidRequest', 'the body must be a JSON object', {});
  return value;
}

/** The path decides; a body or query that says something else of the same name is a mistake that must not pass unseen. */
function refuseContradictions(said: JsonObject, path: Record<string, string>): void {
  for (const [name, value] of Object.entries(path)) {
    const other = memberOf(said, name, 'either');
    if (other !== undefined && other !== '' && other !== value) throw invalidField(name, 'must be as in the path');
  }
}

const notAllowed = (verb: string, allow: string) =>
  new TransportError('MethodNotAllowed', `this path does not take ${verb.slice(0, 20)}; it takes ${allow}`, { allow });
