export { ListWebhookDeliveries } from './list-webhook-deliveries.query.js';
export { WebhookClient } from './webhook-client.js';
export { type WebhookDelivery, type WebhookDeliveryState, WebhookOutbox } from './webhook-outbox.js';
export { WebhookPayloads } from './webhook-payloads.js';
export { WebhookSender, type WebhookSenderOptions } from './webhook-sender.js';
export { WebhookSigner } from './webhook-signer.js';
export { WebhooksModule } from './webhooks.module.js';
