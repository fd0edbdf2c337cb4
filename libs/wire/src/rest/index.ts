import { encodeAgent } from './agent.codec.js';
import { httpError } from './errors.js';
import { decodeCreateTask, encodeTask } from './task.codec.js';

/** The codec of the simple REST API. */
export const rest = { decodeCreateTask, encodeAgent, encodeTask, httpError };
