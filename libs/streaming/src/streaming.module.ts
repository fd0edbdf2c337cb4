import { type DynamicModule, Module } from '@nestjs/common';
import { SubscribeToTaskHandler } from './subscribe-to-task.query.js';

/** Tells clients of what happens to tasks while it happens. */
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
