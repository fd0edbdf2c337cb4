export { ListWebhookDeliveries } from './outbox/list-webhook-deliveries.query.js';
export { WebhookClient } from './requests/webhook-client.js';
export { type WebhookDelivery, type WebhookDeliveryState, WebhookOutbox } from './outbox/webhook-outbox.js';
export { WebhookPayloads } from './requests/webhook-payloads.js';
export { WebhookSender, type WebhookSenderOptions } from './sender/webhook-sender.js';
export { WebhookSigner } from './requests/webhook-signer.js';
export { WebhooksModule } from './webhooks.module.js';
