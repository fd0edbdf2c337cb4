import { connect } from 'node:net';

/** A response as the connection delivered it. */
export interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

const TIMEOUT_MS = 30_000;

/**
 * Writes raw bytes to the server, chunk by chunk, and returns the first response. For requests that no HTTP client sends.
 * Throws when the server neither responds nor closes the connection within 30 s.
 */
export async function rawRequest(url: string, chunks: Iterable<string | Uint8Array>): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  let writing = true;
  try {
    return await new Promise<RawResponse>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new Error(`no complete response within ${TIMEOUT_MS} ms: ${Buffer.concat(received).toString('latin1')}`),
          ),
        TIMEOUT_MS,
      );
      const settle = (isClosed: boolean) => {
        const response = parse(Buffer.concat(received).toString('latin1'));
        if (response === null && !isClosed) return;
        clearTimeout(timer);
        writing = false;
        if (response === null) reject(new Error(`the connection closed after ${received.length} chunks of a response`));
        else resolve(response);
      };
      socket.on('data', (data) => {
        received.push(data);
        settle(false);
      });
      // The server may respond and close while chunks are still being sent.
      socket.on('error', () => settle(true));
      socket.on('close', () => settle(true));
      socket.once('connect', () => {
        void (async () => {
          for (const chunk of chunks) {
            if (!writing || socket.destroyed) return;
            if (!socket.write(chunk)) await Promise.race([once('drain'), once('close')]);
          }
        })();
      });
      const once = (event: string) => new Promise((done) => socket.once(event, done));
    });
  } finally {
    socket.destroy();
  }
}

function parse(text: string): RawResponse | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined && body.length < Number(length)) return null;
  return { status: Number(head.split(' ')[1]), head, body };
}
