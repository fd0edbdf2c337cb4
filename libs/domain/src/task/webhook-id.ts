/** Identifies one webhook of a task: the user that set it, and the id that the user chose. */
export interface WebhookId {
  readonly subject: string;
  readonly configId: string;
}

export const isSameWebhook = (one: WebhookId, other: WebhookId): boolean =>
  one.subject === other.subject && one.configId === other.configId;
