import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@app/domain';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body's bytes as text. */
  readonly text: string;
  readonly body: JsonObject;
  /** The status of the response; null: there was no response. */
  readonly status: number | null;
  readonly receivedAt: number;
}

/** A status, a status with headers, or no response. */
export type WebhookResponse = number | { readonly status: number; readonly headers: Record<string, string> } | 'never';

/** A webhook on the loopback address that records its requests and returns the responses that a test chooses. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  private readonly server: Server;
  private waiting: (() => void)[] = [];

  private constructor(respond: (webhook: ReceivedWebhook, nth: number) => WebhookResponse) {
    this.server = createServer((request, reply) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { url: path = '', headers } = request;
        const webhook = {
          path,
          headers,
          text,
          body: JSON.parse(text) as JsonObject,
          status: null,
          receivedAt: Date.now(),
        };
        const response = respond(webhook, this.received.length + 1);
        const { status, headers: responseHeaders = {} } =
          typeof response === 'object' ? response : { status: response };
        this.received.push({ ...webhook, status: status === 'never' ? null : status });
        if (status !== 'never') reply.writeHead(status, responseHeaders).end();
        for (const wake of this.waiting.splice(0)) wake();
      });
    });
  }

  /** Starts on the given port; 0 selects a free one. */
  static async start(
    respond: (webhook: ReceivedWebhook, nth: number) => WebhookResponse = () => 200,
    port = 0,
  ): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(respond);
    await new Promise<void>((resolve) => receiver.server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  urlOf(path = '/hook'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** The requests that got a 2xx response, in the order of their arrival. */
  get accepted(): ReceivedWebhook[] {
    return this.received.filter(({ status }) => status !== null && status >= 200 && status < 300);
  }

  /** Waits until the received requests satisfy the condition. Throws with all requests after 30 s. */
  async until(satisfies: (receiver: WebhookReceiver) => boolean): Promise<void> {
    const deadline = Date.now() + 30_000;
    while (!satisfies(this)) {
      if (Date.now() > deadline)
        throw new Error(`the condition is not met after 30 s: ${JSON.stringify(this.received, null, 1)}`);
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve);
        timer = setTimeout(resolve, 1_000);
      });
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Returns the state in a webhook, as its version names it; undefined for an artifact or a message. */
export function stateIn({ body }: ReceivedWebhook): string | undefined {
  const { statusUpdate, status } = body as { statusUpdate?: { status: { state: string } }; status?: { state: string } };
  return statusUpdate?.status.state ?? status?.state;
}
