export * from './list-webhook-deliveries.query.js';
export * from './webhook-client.js';
export * from './webhook-outbox.js';
export * from './webhook-payloads.js';
export * from './webhook-sender.js';
export * from './webhook-signer.js';
export * from './webhooks.module.js';
