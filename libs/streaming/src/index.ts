export { StreamingModule } from './streaming.module.js';
export { SubscribeToTask, SubscribeToTaskHandler, type TaskStream } from './subscribe-to-task.query.js';
