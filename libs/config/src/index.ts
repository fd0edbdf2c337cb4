export * from './config.js';
export * from './config-error.js';
