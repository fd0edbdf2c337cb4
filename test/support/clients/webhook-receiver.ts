import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@app/domain';

export interface ReceivedPush {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body's bytes as text. */
  readonly text: string;
  readonly body: JsonObject;
  /** What it was answered; null: nothing. */
  readonly status: number | null;
  readonly at: number;
}

/** A status, a status with headers, or no answer at all. */
export type Answer = number | { readonly status: number; readonly headers: Record<string, string> } | 'never';

/** A webhook on the loopback address that answers as a test says, and remembers what it was told. */
export class WebhookReceiver {
  readonly received: ReceivedPush[] = [];
  private readonly server: Server;
  private waiting: (() => void)[] = [];

  private constructor(answer: (push: ReceivedPush, nth: number) => Answer) {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { url: path = '', headers } = request;
        const push = { path, headers, text, body: JSON.parse(text) as JsonObject, status: null, at: Date.now() };
        const said = answer(push, this.received.length + 1);
        const { status, headers: more = {} } = typeof said === 'object' ? said : { status: said };
        this.received.push({ ...push, status: status === 'never' ? null : status });
        if (status !== 'never') response.writeHead(status, more).end();
        for (const wake of this.waiting.splice(0)) wake();
      });
    });
  }

  /** On the given port, or a free one. */
  static async start(
    answer: (push: ReceivedPush, nth: number) => Answer = () => 200,
    port = 0,
  ): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(answer);
    await new Promise<void>((resolve) => receiver.server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  urlOf(path = '/hook'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** What was taken (answered with 2xx), in the order in which it came. */
  get taken(): ReceivedPush[] {
    return this.received.filter(({ status }) => status !== null && status >= 200 && status < 300);
  }

  /** Waits until what it was told satisfies. Throws with all of that after half a minute. */
  async until(satisfies: (receiver: WebhookReceiver) => boolean): Promise<void> {
    const deadline = Date.now() + 30_000;
    while (!satisfies(this)) {
      if (Date.now() > deadline) throw new Error(`not told in time: ${JSON.stringify(this.received, null, 1)}`);
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

/** The state that a push tells of, in the words of its version; undefined for an artifact or a message. */
export function stateIn({ body }: ReceivedPush): string | undefined {
  const { statusUpdate, status } = body as { statusUpdate?: { status: { state: string } }; status?: { state: string } };
  return statusUpdate?.status.state ?? status?.state;
}
