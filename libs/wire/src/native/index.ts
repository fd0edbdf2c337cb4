export { encodeEvent, encodeTask } from './history.codec.js';
export { decodeListTasks, decodePage, encodePage } from './page.js';
