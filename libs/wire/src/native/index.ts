export { httpError } from './errors.js';
export { encodeEvent, encodeTask } from './history.codec.js';
export { decodeListTasks, decodePage, encodePage } from './page.js';
export {
  decodeClaim,
  decodeFinish,
  decodeHeartbeat,
  decodeObject,
  decodePublish,
  type WorkerOutcome,
  type WorkerOutput,
  type WorkerSaying,
} from './worker-run.codec.js';
