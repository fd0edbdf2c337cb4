export * from './follow-task.js';
