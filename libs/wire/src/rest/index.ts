import { encodeAgent } from './agent.codec.js';
import { httpError, withOwnNames } from './errors.js';
import { decodeCreateTask, encodeTask } from './task.codec.js';

/** The codec of the simple REST API. */
export const rest = { decodeCreateTask, encodeAgent, encodeTask, httpError, withOwnNames };
