import { PROTOCOLS } from '@app/wire';
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ServerModule } from '../../../apps/server/src/server.module.js';
import { withoutNames } from './task-operations.js';

type Controller = new (...parameters: never[]) => object;

/**
 * The operations of every surface: the methods and paths that the codecs register, such as `1.0 GetTask` and `0.3 GET tasks/{}`,
 * and the routes of the other controllers, such as `GET /api/tasks/{}`.
 */
export function registeredOperations(): string[] {
  const a2a = Object.values(PROTOCOLS).flatMap(({ codec: { version, methods, http } }) => [
    ...[...methods.keys()].map((method) => `${version} ${method}`),
    ...Object.entries(http.resources).flatMap(([path, resource]) =>
      Object.keys(resource).map((verb) => `${version} ${verb} ${withoutNames(path)}`),
    ),
  ]);
  const controllers = Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, ServerModule) as Controller[];
  return [...a2a, ...controllers.flatMap(routesOf)];
}

function routesOf(controller: Controller): string[] {
  const prefixes = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat();
  const { constructor: _, ...members } = Object.getOwnPropertyDescriptors(controller.prototype);
  return Object.values(members).flatMap(({ value }) => {
    const path = Reflect.getMetadata(PATH_METADATA, value as object) as string | string[] | undefined;
    if (path === undefined) return [];
    const verb = RequestMethod[Reflect.getMetadata(METHOD_METADATA, value as object) as RequestMethod];
    const paths = prefixes.flatMap((prefix) => [path].flat().map((own) => `/${prefix}/${own}`.replace(/\/+/g, '/')));
    return paths.map((route) => `${verb} ${withoutNames(route.replace(/(.)\/$/, '$1'))}`);
  });
}
