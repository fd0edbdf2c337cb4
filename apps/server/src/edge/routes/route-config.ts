import type { Principal } from '@app/domain';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import type { FastifyContextConfig } from 'fastify';

/** A group of paths with one error format. */
export type SurfaceName = 'a2a-http-json' | 'a2a-json-rpc' | 'rest' | 'api' | 'discovery' | 'operations';

declare module 'fastify' {
  /** The configuration of a route. The hooks read it before the body is read, which Nest's guards cannot. */
  interface FastifyContextConfig {
    surface?: SurfaceName;
    /** The requests that need no credential. Absent: none. */
    public?: PublicWhen;
    /** The roles that may use the route. Absent: every role. */
    roles?: readonly Principal['role'][];
  }
}

/** `on-loopback`: while the server listens on a loopback address only, without a proxy. */
type PublicWhen = 'always' | 'on-loopback';

/** Adds the routes of a controller, or one route, to a surface. */
export const Surface = (surface: SurfaceName) => configure({ surface });

/** Exempts the routes of a controller, or one route, from authentication. */
export const Public = (when: PublicWhen = 'always') => configure({ public: when });

/** Restricts the routes of a controller, or one route, to callers with one of the roles. */
export const Roles = (...roles: readonly Principal['role'][]) => configure({ roles });

/** Returns a decorator that adds to the configuration. The configuration of a method overrides that of its class. */
function configure(config: FastifyContextConfig): ClassDecorator & MethodDecorator {
  return (target: object, _name?: string | symbol, method?: PropertyDescriptor) => {
    const handlers = method === undefined ? methodsOf(target as Class) : [method.value as object];
    for (const handler of handlers) {
      const known = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as FastifyContextConfig | undefined;
      Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, { ...config, ...known }, handler);
    }
  };
}

interface Class {
  readonly prototype: object;
}

const methodsOf = ({ prototype }: Class): object[] =>
  Object.values(Object.getOwnPropertyDescriptors(prototype)).map(({ value }) => value as object);
