import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** A proxy in front of Postgres that can black-hole its connections: bytes are dropped in both directions, and nothing is closed. */
export class UnresponsiveProxy {
  private readonly forwarding = new Set<Socket>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (client) => {
      const { searchParams, hostname, port } = target;
      const folder = searchParams.get('host');
      const socket = folder === null ? null : join(folder, `.s.PGSQL.${searchParams.get('port')}`);
      const postgres = socket === null ? connect(Number(port || 5432), hostname) : connect(socket);
      this.forwarding.add(client);
      client.on('data', (bytes) => this.forwarding.has(client) && postgres.write(bytes));
      postgres.on('data', (bytes) => this.forwarding.has(client) && client.write(bytes));
      for (const [from, to] of [
        [client, postgres],
        [postgres, client],
      ] as const) {
        this.sockets.add(from);
        from.on('error', () => undefined).on('close', () => to.destroy());
      }
    });
  }

  /** Starts a proxy in front of the server in `url`. */
  static async inFrontOf(url: string): Promise<UnresponsiveProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new UnresponsiveProxy(server, new URL(url));
  }

  /** The URL of the same database, through this proxy. */
  get url(): string {
    const url = new URL(this.target);
    const user = url.searchParams.get('user');
    for (const name of ['host', 'port', 'user']) url.searchParams.delete(name);
    const { port } = this.server.address() as AddressInfo;
    const credentials = user ?? [url.username, url.password].filter((part) => part !== '').join(':');
    return `postgresql://${credentials}@127.0.0.1:${port}${url.pathname}${url.search}`;
  }

  /** Black-holes the connections that exist now. Later connections work. */
  stopForwarding(): void {
    this.forwarding.clear();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
