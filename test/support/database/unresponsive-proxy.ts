import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** Stands before Postgres like a network that forgets connections: what goes into them is swallowed, and nothing comes back. */
export class DeafProxy {
  private readonly passing = new Set<Socket>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly behind: URL,
  ) {
    server.on('connection', (client) => {
      const { searchParams, hostname, port } = behind;
      const folder = searchParams.get('host');
      const socket = folder === null ? null : join(folder, `.s.PGSQL.${searchParams.get('port')}`);
      const postgres = socket === null ? connect(Number(port || 5432), hostname) : connect(socket);
      this.passing.add(client);
      client.on('data', (bytes) => this.passing.has(client) && postgres.write(bytes));
      postgres.on('data', (bytes) => this.passing.has(client) && client.write(bytes));
      for (const [from, to] of [
        [client, postgres],
        [postgres, client],
      ] as const) {
        this.sockets.add(from);
        from.on('error', () => undefined).on('close', () => to.destroy());
      }
    });
  }

  /** In front of the server of a URL. */
  static async before(url: string): Promise<DeafProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DeafProxy(server, new URL(url));
  }

  /** Leads to the same database through here. */
  get url(): string {
    const url = new URL(this.behind);
    const user = url.searchParams.get('user');
    for (const name of ['host', 'port', 'user']) url.searchParams.delete(name);
    const { port } = this.server.address() as AddressInfo;
    const credentials = user ?? [url.username, url.password].filter((part) => part !== '').join(':');
    return `postgresql://${credentials}@127.0.0.1:${port}${url.pathname}${url.search}`;
  }

  /** Forgets the connections of now; those that come later work. */
  forget(): void {
    this.passing.clear();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
