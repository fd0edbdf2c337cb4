import { All, Controller, NotFoundException } from '@nestjs/common';
import { Public, Surface } from './route-config.js';

/**
 * The paths below each surface that no other controller serves. They respond in the error format of the surface, and need
 * a credential like its other paths. A path that no route matches always needs one.
 */
@Controller()
export class UnknownPathsController {
  @All('a2a/*')
  @Surface('rest')
  rest(): never {
    throw new NotFoundException();
  }

  @All(['a2a/v1', 'a2a/http-json', 'a2a/http-json/*'])
  @Surface('a2a-http-json')
  httpJson(): never {
    throw new NotFoundException();
  }

  @All('api/*')
  @Surface('api')
  api(): never {
    throw new NotFoundException();
  }

  @All('.well-known/*')
  @Surface('discovery')
  @Public()
  discovery(): never {
    throw new NotFoundException();
  }

  /** The paths of an agent are rewritten to those of the root, so this agent is unknown. */
  @All('agents/:name/.well-known/*')
  @Public()
  discoveryOfUnknownAgent(): never {
    throw new NotFoundException();
  }

  @All('health/*')
  @Surface('operations')
  @Public()
  health(): never {
    throw new NotFoundException();
  }

  @All('metrics/*')
  @Surface('operations')
  metrics(): never {
    throw new NotFoundException();
  }
}
