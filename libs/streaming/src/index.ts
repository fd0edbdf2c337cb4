export { StreamingModule } from './streaming.module.js';
export {
  type StreamFrame,
  type StreamOptions,
  SubscribeToTask,
  SubscribeToTaskHandler,
  type TaskStream,
} from './subscribe-to-task.query.js';
