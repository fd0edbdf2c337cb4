import { TransportError } from '@app/wire';
import type { FastifyInstance } from 'fastify';

/** Where a stranger goes on from a path that leads nowhere; the first whose path fits. */
const ELSEWHERE: [RegExp, string][] = [
  [/^\/\.well-known\//, 'the card is at /.well-known/agent-card.json'],
  [
    /^\/agents(\/|$)/,
    '/health names the agents; each has /agents/{name}/a2a and /agents/{name}/.well-known/agent-card.json',
  ],
  [/^\/health\//, 'there are /health, /health/live and /health/ready'],
  [/^\/a2a\//, 'there are /a2a (JSON-RPC), /a2a/v1/… (HTTP+JSON), and /a2a/agent and /a2a/tasks (simple REST)'],
  [
    /^\/api(\/|$)/,
    'there are /api/tasks, /api/tasks/{id}/… (events, messages, deliveries, runs, pushes, stream), ' +
      '/api/workers/claim and /api/runs/{id}/… (heartbeat, publish, finish)',
  ],
  [/^/, 'there are /a2a, /a2a/v1/…, /a2a/tasks, /api/tasks, /.well-known/agent-card.json and /health'],
];

/** Which verbs the paths of the controllers take, so that a request which finds none can be told what to mend. */
export class Routes {
  private readonly verbs = new Map<string, { readonly pattern: RegExp; readonly verbs: Set<string> }>();

  /** Notes every route from here on. */
  observe(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', ({ url, method }) => {
      // What is behind an asterisk finds its routes itself.
      if (url.includes('*')) return;
      const route = this.verbs.get(url) ?? { pattern: patternOf(url), verbs: new Set<string>() };
      this.verbs.set(url, route);
      // Beside each GET there is a HEAD.
      for (const verb of [method].flat()) if (verb !== 'HEAD') route.verbs.add(verb);
    });
  }

  /** Why nothing answers: MethodNotAllowed where another verb would do, else MethodNotFound. */
  nothingAt(verb: string, url: string): TransportError {
    const path = url.split('?', 1)[0]!.replace(/(.)\/$/, '$1');
    const known = [...this.verbs.values()].filter(({ pattern }) => pattern.test(path));
    const allow = [...new Set(known.flatMap(({ verbs }) => [...verbs]))].toSorted().join(', ');
    if (allow !== '') {
      return new TransportError('MethodNotAllowed', `this path does not take ${verb}; it takes ${allow}`, { allow });
    }
    const [, elsewhere] = ELSEWHERE.find(([at]) => at.test(path))!;
    return new TransportError('MethodNotFound', `there is nothing at this path; ${elsewhere}`, { method: verb });
  }
}

/** `/api/tasks/:id(^[^:/]+)::resume` as an expression: a parameter is a segment, or its beginning up to what follows. */
function patternOf(route: string): RegExp {
  const segments = route.split(/\/(?![^(]*\))/).map((segment) => {
    const [, parameter = '', rest = ''] = /^(:\w+(?:\([^)]*\))?)?(.*)$/.exec(segment)!;
    return `${parameter === '' ? '' : '[^/]+'}${rest.replaceAll('::', ':').replace(/[^\w:-]/g, '\\$&')}`;
  });
  return new RegExp(`^${segments.join('/')}$`);
}
