import { connect } from 'node:net';

/** An answer as it came over the connection. */
export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

const GIVES_UP_MS = 30_000;

/**
 * Writes bytes to the server as they are, piece by piece, and gives its first answer: for requests that no HTTP client would send.
 * Throws when the server neither answers nor closes within half a minute.
 */
export async function rawRequest(url: string, pieces: Iterable<string | Uint8Array>): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  let writing = true;
  try {
    return await new Promise<RawAnswer>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no answer: ${Buffer.concat(received).toString('latin1')}`)),
        GIVES_UP_MS,
      );
      const settle = (over: boolean) => {
        const answer = parse(Buffer.concat(received).toString('latin1'));
        if (answer === null && !over) return;
        clearTimeout(timer);
        writing = false;
        if (answer === null) reject(new Error(`the connection closed after ${received.length} pieces of an answer`));
        else resolve(answer);
      };
      socket.on('data', (data) => {
        received.push(data);
        settle(false);
      });
      // The server may answer and close while pieces are still on their way.
      socket.on('error', () => settle(true));
      socket.on('close', () => settle(true));
      socket.once('connect', () => {
        void (async () => {
          for (const piece of pieces) {
            if (!writing || socket.destroyed) return;
            if (!socket.write(piece)) await Promise.race([once('drain'), once('close')]);
          }
        })();
      });
      const once = (event: string) => new Promise((done) => socket.once(event, done));
    });
  } finally {
    socket.destroy();
  }
}

function parse(text: string): RawAnswer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined && body.length < Number(length)) return null;
  return { status: Number(head.split(' ')[1]), head, body };
}
