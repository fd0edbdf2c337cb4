import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { Random } from '../load/random.js';

/** The share of the responses to writes of a run that are dropped. */
const DROP_PROBABILITY = 0.3;
const RUN_WRITES = /^\/api\/runs\/.*\/(?:publish|finish)$/;

/**
 * A load balancer that sends each request to a random server that is up. It drops some of the responses to writes of a run, so
 * that the worker must repeat a write that was recorded, usually on a different server.
 */
export class LoadBalancer {
  /** The number of dropped responses. */
  droppedResponses = 0;
  private dropProbability = DROP_PROBABILITY;

  private constructor(
    private readonly server: Server,
    private readonly urls: () => string[],
    private readonly random: Random,
  ) {
    server.on('request', (from, to) => this.forward(from, to));
  }

  static async listen(urls: () => string[], random: Random): Promise<LoadBalancer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new LoadBalancer(server, urls, random);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stopDropping(): void {
    this.dropProbability = 0;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private forward(from: IncomingMessage, to: ServerResponse): void {
    const urls = this.urls();
    if (urls.length === 0) return void to.destroy();
    const { method, headers, url: path = '/' } = from;
    const outgoing = request(new URL(path, this.random.pick(urls)), { method, headers, agent: false });
    outgoing.on('error', () => to.destroy());
    outgoing.on('response', (response) => {
      if (RUN_WRITES.test(path) && this.random.chance(this.dropProbability)) {
        this.droppedResponses += 1;
        response.destroy();
        to.destroy();
        return;
      }
      to.writeHead(response.statusCode!, response.headers);
      pipeline(response, to, () => undefined);
    });
    // The client has disconnected.
    to.on('close', () => outgoing.destroy());
    pipeline(from, outgoing, () => undefined);
  }
}
