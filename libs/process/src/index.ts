export { runProcess } from './run-process.js';
