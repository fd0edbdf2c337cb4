import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { Random } from '../load/random.js';

/** Of the answers to what a run says. */
const LOST = 0.3;
const SAYS = /^\/api\/runs\/.*\/(?:publish|finish)$/;

/**
 * What stands before several servers: each request goes to one that is up. Now and then the answer to a remote worker gets
 * lost when all of it has been done, so that the worker must ask again, most likely another server.
 */
export class ServerFront {
  /** Answers that it has lost. */
  lost = 0;
  private loses = LOST;

  private constructor(
    private readonly server: Server,
    private readonly urls: () => string[],
    private readonly random: Random,
  ) {
    server.on('request', (from, to) => this.pass(from, to));
  }

  static async listen(urls: () => string[], random: Random): Promise<ServerFront> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ServerFront(server, urls, random);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  loseNoMore(): void {
    this.loses = 0;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private pass(from: IncomingMessage, to: ServerResponse): void {
    const urls = this.urls();
    if (urls.length === 0) return void to.destroy();
    const { method, headers, url: path = '/' } = from;
    const passed = request(new URL(path, this.random.pick(urls)), { method, headers, agent: false });
    passed.on('error', () => to.destroy());
    passed.on('response', (answer) => {
      if (SAYS.test(path) && this.random.chance(this.loses)) {
        this.lost += 1;
        answer.destroy();
        to.destroy();
        return;
      }
      to.writeHead(answer.statusCode!, answer.headers);
      pipeline(answer, to, () => undefined);
    });
    // Whoever asked and has gone waits for nothing.
    to.on('close', () => passed.destroy());
    pipeline(from, passed, () => undefined);
  }
}
