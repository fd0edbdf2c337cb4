import { methodNotAllowed, TransportError } from '@app/wire';
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import { pathOf } from '../callers/edge-request.js';

declare module 'fastify' {
  interface FastifyInstance {
    routeTable: RouteTable;
  }
}

/** Hints for a path that matches no route. The first pattern that matches the path counts. */
const HINTS: [RegExp, string][] = [
  [/^\/\.well-known\//, 'the agent card is at /.well-known/agent-card.json'],
  [
    /^\/agents(\/|$)/,
    '/health lists the agents; each has /agents/{name}/a2a and /agents/{name}/.well-known/agent-card.json',
  ],
  [/^\/health\//, 'the paths are /health, /health/live and /health/ready'],
  [/^\/a2a\//, 'the paths are /a2a (JSON-RPC), /a2a/v1/… (HTTP+JSON), and /a2a/agent and /a2a/tasks (simple REST)'],
  [
    /^\/api(\/|$)/,
    'the paths are /api/tasks, /api/tasks/{id}/… (events, messages, deliveries, runs, pushes, stream), ' +
      '/api/workers/claim and /api/runs/{id}/… (heartbeat, publish, finish)',
  ],
  [/^/, 'the paths are /a2a, /a2a/v1/…, /a2a/tasks, /api/tasks, /.well-known/agent-card.json and /health'],
];

interface Route {
  readonly pattern: RegExp;
  readonly config: FastifyContextConfig;
  /** None for a handler of all methods, because it decides itself. */
  readonly methods: Set<string>;
  /** Of several routes that match a path, the one with the highest number counts. */
  readonly specificity: number;
}

/** The routes of the controllers, for requests that Fastify matches with none of them. */
export class RouteTable {
  private readonly routes = new Map<string, Route>();

  /** Records every route that is registered from now on, and sets `fastify.routeTable`. */
  observe(fastify: FastifyInstance): void {
    fastify.decorate('routeTable', this as RouteTable);
    fastify.addHook('onRoute', ({ url, method, config = {} }) => {
      const specificity = url.endsWith('*') ? url.length : Infinity;
      const route = this.routes.get(url) ?? {
        pattern: patternOf(url),
        config,
        methods: new Set<string>(),
        specificity,
      };
      this.routes.set(url, route);
      // Fastify adds a HEAD route to each GET route.
      if (typeof method === 'string' && method !== 'HEAD') route.methods.add(method);
    });
  }

  /** Returns the configuration of a path. It is that of its routes, of any HTTP method. */
  configOf(url: string): FastifyContextConfig {
    const [first] = this.matching(url).toSorted((a, b) => b.specificity - a.specificity);
    return first?.config ?? {};
  }

  /** Returns MethodNotAllowed if the path has routes for other HTTP methods, else MethodNotFound with a hint. */
  routeNotFound(method: string, url: string): TransportError {
    const allowed = [...new Set(this.matching(url).flatMap(({ methods }) => [...methods]))].toSorted();
    if (allowed.length > 0) return methodNotAllowed(method, allowed);
    const [, hint] = HINTS.find(([pattern]) => pattern.test(pathOf(url)))!;
    return new TransportError('MethodNotFound', `no such path; ${hint}`, { method });
  }

  private matching(url: string): Route[] {
    const path = pathOf(url);
    return [...this.routes.values()].filter(({ pattern }) => pattern.test(path));
  }
}

/** Returns the configuration of the request's route, or of its path if no route matches the HTTP method. */
export const routeConfigOf = (request: FastifyRequest): FastifyContextConfig =>
  request.is404 ? request.server.routeTable.configOf(request.url) : request.routeOptions.config;

/**
 * Converts a route of Fastify, such as `/api/tasks/:id(^[^:/]+)::resume`, into an expression. A parameter matches one
 * segment, or the part of the segment before the text that follows the parameter.
 */
function patternOf(route: string): RegExp {
  const segments = route.split(/\/(?![^(]*\))/).map((segment) => {
    if (segment === '*') return '.*';
    const [, parameter = '', rest = ''] = /^(:\w+(?:\([^)]*\))?)?(.*)$/.exec(segment)!;
    return `${parameter === '' ? '' : '[^/]+'}${rest.replaceAll('::', ':').replace(/[^\w:-]/g, '\\$&')}`;
  });
  return new RegExp(`^${segments.join('/')}/?$`);
}
