export { httpError } from './errors.js';
export { encodeEvent, encodeTask } from './history.codec.js';
export { decodeListTasks, decodePage, encodePage } from './page.js';
export {
  decodeClaim,
  decodeFinish,
  decodeHeartbeat,
  decodeObject,
  decodePublish,
  encodeClaimedRun,
  type WorkerOutcome,
  type WorkerOutput,
  type MessageInput,
} from './worker-run.codec.js';
