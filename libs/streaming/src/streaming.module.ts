import { Module } from '@nestjs/common';
import { SubscribeToTaskHandler } from './subscribe-to-task.query.js';

/** Streams tasks to clients. */
@Module({ providers: [SubscribeToTaskHandler], exports: [SubscribeToTaskHandler] })
export class StreamingModule {}
