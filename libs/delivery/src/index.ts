export * from './delivery.module.js';
export * from './follow-task.js';
export * from './subscribe-to-task.query.js';
