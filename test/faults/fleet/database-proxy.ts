import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Where to cut a connection: inside an open transaction; as an append leaves for the server, which may or may not carry it
 * out; or once a commit has been carried out, before its answer comes back.
 */
export type Cut = 'cut in a transaction' | 'cut with an append' | 'cut before the answer';

/** A message of the Postgres protocol; a start-up message has no type. */
interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/**
 * Stands between one process and Postgres. It understands as much of the protocol as it takes to cut a connection at the
 * worst moment, and it can hold everything up, as a network does that has gone silent.
 */
export class DatabaseProxy {
  readonly cuts: Record<Cut, number> = {
    'cut in a transaction': 0,
    'cut with an append': 0,
    'cut before the answer': 0,
  };
  private readonly armed: Record<Cut, number> = {
    'cut in a transaction': 0,
    'cut with an append': 0,
    'cut before the answer': 0,
  };
  private readonly links = new Set<Link>();
  private held: (() => void)[] | null = null;
  private away = false;

  private constructor(
    private readonly server: Server,
    private readonly socketPath: string,
  ) {
    server.on('connection', (client) => {
      if (this.away) client.on('error', () => undefined).resetAndDestroy();
      else this.links.add(new Link(this, client, connect(this.socketPath)));
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

  /** Cuts the next connections that come to such a moment. */
  arm(cut: Cut, times: number): void {
    this.armed[cut] += times;
  }

  disarm(): void {
    for (const cut of Object.keys(this.armed) as Cut[]) this.armed[cut] = 0;
  }

  /** Cuts every connection now. */
  cutAll(): void {
    for (const link of this.links) link.cut();
  }

  /** As if nothing listened any more. */
  goAway(): void {
    this.away = true;
    this.cutAll();
  }

  comeBack(): void {
    this.away = false;
  }

  /** From now on nothing passes in either direction, and nothing is lost. */
  hold(): void {
    this.held ??= [];
  }

  /** What was held up arrives, late. */
  letGo(): void {
    const waiting = this.held ?? [];
    this.held = null;
    for (const pass of waiting) pass();
  }

  async close(): Promise<void> {
    this.letGo();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cutAll();
    await closed;
  }

  /** Whether a connection that has come to such a moment is to be cut there. */
  takes(cut: Cut): boolean {
    if (this.armed[cut] === 0) return false;
    this.armed[cut] -= 1;
    this.cuts[cut] += 1;
    return true;
  }

  pass(send: () => void): void {
    if (this.held === null) send();
    else this.held.push(send);
  }

  left(link: Link): void {
    this.links.delete(link);
  }
}

/** One connection of the process, and the one to Postgres that belongs to it. */
class Link {
  private readonly fromClient = new MessageReader(true);
  private readonly fromServer = new MessageReader(false);
  private inTransaction = false;
  private statement = '';
  /** The answer to what is under way is not to arrive. */
  private mute = false;
  private over = false;

  constructor(
    private readonly proxy: DatabaseProxy,
    private readonly client: Socket,
    private readonly server: Socket,
  ) {
    client.on('data', (bytes) => proxy.pass(() => this.ask(bytes)));
    server.on('data', (bytes) => proxy.pass(() => this.answer(bytes)));
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      // Whatever breaks one side ends the other; `close` follows.
      socket.on('error', () => undefined);
      socket.on('close', () =>
        proxy.pass(() => {
          this.over = true;
          other.end();
          proxy.left(this);
        }),
      );
    }
  }

  cut(): void {
    this.over = true;
    this.client.resetAndDestroy();
    this.server.destroy();
  }

  private ask(bytes: Buffer): void {
    let commits = false;
    for (const message of this.fromClient.read(bytes)) {
      if (message.type === 'B') this.statement = statementOf(message.body);
      const commit = isCommit(message, this.inTransaction, this.statement);
      commits ||= commit;
      if (this.inTransaction && !commit && this.proxy.takes('cut in a transaction')) return this.cut();
    }
    if (this.over) return;
    this.server.write(bytes);
    if (!commits) return;
    if (this.proxy.takes('cut with an append')) this.cut();
    else if (this.proxy.takes('cut before the answer')) this.mute = true;
  }

  private answer(bytes: Buffer): void {
    let ready = false;
    for (const { type, body } of this.fromServer.read(bytes)) {
      if (type !== 'Z') continue;
      ready = true;
      this.inTransaction = body.toString() !== 'I';
    }
    if (this.mute && ready) this.cut();
    else if (!this.mute && !this.over) this.client.write(bytes);
  }
}

/** Cuts a stream of bytes into messages. */
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

/** Name of the prepared statement that a Bind message is for. */
function statementOf(body: Buffer): string {
  const [, name = ''] = body.subarray(0, 256).toString('latin1').split('\0');
  return name;
}

/** Whether the server commits when it gets this: the end of a transaction, or an append, which is one by itself. */
const isCommit = ({ type, body }: Message, inTransaction: boolean, statement: string): boolean =>
  type === 'Q'
    ? body.toString('latin1') === 'commit\0'
    : type === 'S' && !inTransaction && statement.startsWith('append_events');
