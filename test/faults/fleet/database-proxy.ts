import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The moment at which to cut a connection: inside an open transaction; after an append has been sent, so that it may or may
 * not be executed; or after a commit has been executed, before its response is forwarded.
 */
export type Cut = 'cut in a transaction' | 'cut after an append' | 'cut before the response';

/** A message of the Postgres protocol. A start-up message has no type. */
interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/**
 * A proxy between one process and Postgres. It parses enough of the protocol to cut a connection at a chosen moment, and it
 * can delay all traffic, as an unresponsive network does.
 */
export class DatabaseProxy {
  readonly cuts: Record<Cut, number> = {
    'cut in a transaction': 0,
    'cut after an append': 0,
    'cut before the response': 0,
  };
  private readonly armed: Record<Cut, number> = {
    'cut in a transaction': 0,
    'cut after an append': 0,
    'cut before the response': 0,
  };
  private readonly connections = new Set<ProxiedConnection>();
  private delayed: (() => void)[] | null = null;
  private isUnreachable = false;

  private constructor(
    private readonly server: Server,
    private readonly socketPath: string,
  ) {
    server.on('connection', (client) => {
      if (this.isUnreachable) client.on('error', () => undefined).resetAndDestroy();
      else this.connections.add(new ProxiedConnection(this, client, connect(this.socketPath)));
    });
  }

  static async listen(socketPath: string): Promise<DatabaseProxy> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new DatabaseProxy(server, socketPath);
  }

  url(user: string, database: string): string {
    const { port } = this.server.address() as AddressInfo;
    return `postgresql://${user}@127.0.0.1:${port}/${database}?sslmode=disable`;
  }

  /** Cuts the next `times` connections that reach this moment. */
  arm(cut: Cut, times: number): void {
    this.armed[cut] += times;
  }

  disarm(): void {
    for (const cut of Object.keys(this.armed) as Cut[]) this.armed[cut] = 0;
  }

  /** Cuts every connection now. */
  cutAll(): void {
    for (const connection of this.connections) connection.cut();
  }

  /** Cuts every connection and resets new ones. */
  refuseConnections(): void {
    this.isUnreachable = true;
    this.cutAll();
  }

  acceptConnections(): void {
    this.isUnreachable = false;
  }

  /** Delays all traffic in both directions. Nothing is lost. */
  pause(): void {
    this.delayed ??= [];
  }

  /** Forwards the delayed traffic and stops the delay. */
  resume(): void {
    const sends = this.delayed ?? [];
    this.delayed = null;
    for (const send of sends) send();
  }

  async close(): Promise<void> {
    this.resume();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cutAll();
    await closed;
  }

  /** Returns whether a connection that has reached this moment must be cut, and counts the cut. */
  takeCut(cut: Cut): boolean {
    if (this.armed[cut] === 0) return false;
    this.armed[cut] -= 1;
    this.cuts[cut] += 1;
    return true;
  }

  forward(send: () => void): void {
    if (this.delayed === null) send();
    else this.delayed.push(send);
  }

  remove(connection: ProxiedConnection): void {
    this.connections.delete(connection);
  }
}

/** One connection of the process and its counterpart to Postgres. */
class ProxiedConnection {
  private readonly fromClient = new MessageReader(true);
  private readonly fromServer = new MessageReader(false);
  private inTransaction = false;
  private statement = '';
  /** Whether the response to the current request is dropped. */
  private dropsResponse = false;
  private isClosed = false;

  constructor(
    private readonly proxy: DatabaseProxy,
    private readonly client: Socket,
    private readonly server: Socket,
  ) {
    client.on('data', (bytes) => proxy.forward(() => this.forwardRequest(bytes)));
    server.on('data', (bytes) => proxy.forward(() => this.forwardResponse(bytes)));
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      // `close` follows an error, and ends the other side.
      socket.on('error', () => undefined);
      socket.on('close', () =>
        proxy.forward(() => {
          this.isClosed = true;
          other.end();
          proxy.remove(this);
        }),
      );
    }
  }

  cut(): void {
    this.isClosed = true;
    this.client.resetAndDestroy();
    this.server.destroy();
  }

  private forwardRequest(bytes: Buffer): void {
    let commits = false;
    for (const message of this.fromClient.read(bytes)) {
      if (message.type === 'B') this.statement = statementOf(message.body);
      const commit = isCommit(message, this.inTransaction, this.statement);
      commits ||= commit;
      if (this.inTransaction && !commit && this.proxy.takeCut('cut in a transaction')) return this.cut();
    }
    if (this.isClosed) return;
    this.server.write(bytes);
    if (!commits) return;
    if (this.proxy.takeCut('cut after an append')) this.cut();
    else if (this.proxy.takeCut('cut before the response')) this.dropsResponse = true;
  }

  private forwardResponse(bytes: Buffer): void {
    let ready = false;
    for (const { type, body } of this.fromServer.read(bytes)) {
      if (type !== 'Z') continue;
      ready = true;
      this.inTransaction = body.toString() !== 'I';
    }
    if (this.dropsResponse && ready) this.cut();
    else if (!this.dropsResponse && !this.isClosed) this.client.write(bytes);
  }
}

/** Parses a stream of bytes into messages. */
class MessageReader {
  private rest = Buffer.alloc(0);

  constructor(private starting: boolean) {}

  *read(bytes: Buffer): Generator<Message> {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (;;) {
      const head = this.starting ? 0 : 1;
      if (this.rest.length < head + 4) return;
      const end = head + this.rest.readInt32BE(head);
      if (this.rest.length < end) return;
      const type = this.starting ? '' : String.fromCharCode(this.rest[0]!);
      const body = this.rest.subarray(head + 4, end);
      this.rest = this.rest.subarray(end);
      this.starting = false;
      yield { type, body };
    }
  }
}

/** Returns the name of the prepared statement in a Bind message. */
function statementOf(body: Buffer): string {
  const [, name = ''] = body.subarray(0, 256).toString('latin1').split('\0');
  return name;
}

/** Returns whether the server commits on this message: the end of a transaction, or an append outside of one. */
const isCommit = ({ type, body }: Message, inTransaction: boolean, statement: string): boolean =>
  type === 'Q'
    ? body.toString('latin1') === 'commit\0'
    : type === 'S' && !inTransaction && statement.startsWith('append_events');
