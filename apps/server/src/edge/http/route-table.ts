import { methodNotAllowed, TransportError } from '@app/wire';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './surfaces.js';

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
  readonly methods: Set<string>;
}

/** The HTTP methods of each path of the controllers, for the error of a request that matches no route. */
export class RouteTable {
  private readonly routes = new Map<string, Route>();

  /** Records every route that is registered from now on. */
  observe(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', ({ url, method }) => {
      // A controller behind a wildcard has its own routes.
      if (url.includes('*')) return;
      const route = this.routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
      this.routes.set(url, route);
      // Fastify adds a HEAD route to each GET route.
      for (const name of [method].flat()) if (name !== 'HEAD') route.methods.add(name);
    });
  }

  /** Returns MethodNotAllowed if the path has routes for other HTTP methods, else MethodNotFound with a hint. */
  routeNotFound(method: string, url: string): TransportError {
    const path = pathOf(url).replace(/(.)\/$/, '$1');
    const matching = [...this.routes.values()].filter(({ pattern }) => pattern.test(path));
    const allowed = [...new Set(matching.flatMap(({ methods }) => [...methods]))].toSorted();
    if (allowed.length > 0) return methodNotAllowed(method, allowed);
    const [, hint] = HINTS.find(([pattern]) => pattern.test(path))!;
    return new TransportError('MethodNotFound', `no such path; ${hint}`, { method });
  }
}

/**
 * Converts a route of Fastify, such as `/api/tasks/:id(^[^:/]+)::resume`, into an expression. A parameter matches one
 * segment, or the part of the segment before the text that follows the parameter.
 */
function patternOf(route: string): RegExp {
  const segments = route.split(/\/(?![^(]*\))/).map((segment) => {
    const [, parameter = '', rest = ''] = /^(:\w+(?:\([^)]*\))?)?(.*)$/.exec(segment)!;
    return `${parameter === '' ? '' : '[^/]+'}${rest.replaceAll('::', ':').replace(/[^\w:-]/g, '\\$&')}`;
  });
  return new RegExp(`^${segments.join('/')}$`);
}
