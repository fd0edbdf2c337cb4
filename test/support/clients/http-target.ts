import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on the loopback address whose responses a test chooses. */
export class HttpTarget {
  /** Handles the next requests. */
  respond: RequestListener = (_request, response) => void response.end();
  /** Number of connections since the start. */
  connections = 0;
  /** Number of requests since the start. */
  requests = 0;
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      this.requests += 1;
      this.respond(request, response);
    });
    this.server.on('connection', () => {
      this.connections += 1;
    });
  }

  static async start(): Promise<HttpTarget> {
    const target = new HttpTarget();
    await new Promise<void>((resolve) => target.server.listen(0, '127.0.0.1', resolve));
    return target;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  urlOf(path = '/'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
