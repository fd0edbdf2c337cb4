export { encodeAgent } from './agent.codec.js';
export { httpError } from './errors.js';
export { decodeCreateTask, encodeTask } from './task.codec.js';
