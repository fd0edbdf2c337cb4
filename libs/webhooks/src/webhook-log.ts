import { Injectable, Logger } from '@nestjs/common';

/** A log line: an event with fields. It contains no URL, no id that a client has chosen, and no content. */
export type WebhookLogLine = { readonly message: string } & Readonly<Record<string, unknown>>;

/** Logs dead deliveries and retired webhooks, and the errors of the sender, which no caller receives. */
@Injectable()
export class WebhookLog {
  private readonly logger = new Logger('webhooks');

  warn(line: WebhookLogLine): void {
    this.logger.warn(line);
  }

  error(error: unknown, claim?: { readonly taskId: string }): void {
    this.logger.error({ message: 'webhook sender failed', taskId: claim?.taskId, error });
  }
}
