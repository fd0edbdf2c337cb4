import { type DynamicModule, Module } from '@nestjs/common';
import { SubscribeToTaskHandler } from './subscribe-to-task.query.js';

/** Streams tasks to clients. */
@Module({})
export class StreamingModule {
  static with(): DynamicModule {
    return {
      module: StreamingModule,
      global: true,
      providers: [SubscribeToTaskHandler],
      exports: [SubscribeToTaskHandler],
    };
  }
}
