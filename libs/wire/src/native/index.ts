import { httpError } from './errors.js';
import { encodeEvent, encodeTask } from './history.codec.js';
import { decodeAuditLog, decodeListTasks, decodePage, encodePage, requireNoParameters } from './page.js';
import { decodeClaim, decodeFinish, decodeHeartbeat, decodeObject, decodePublish } from './worker-run.codec.js';

/** The codec of the native REST API. */
export const native = {
  decodeAuditLog,
  decodeClaim,
  decodeFinish,
  decodeHeartbeat,
  decodeListTasks,
  decodeObject,
  decodePage,
  decodePublish,
  encodeEvent,
  encodePage,
  encodeTask,
  httpError,
  requireNoParameters,
};
