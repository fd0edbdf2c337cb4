export * from './config.js';
export * from './config-error.js';
export { isLoopback } from './network.js';
