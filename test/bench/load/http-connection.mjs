import { connect } from 'node:net';

/**
 * One persistent connection with one request at a time. It implements only the part of HTTP that the load generator needs,
 * because its CPU time is not available to the servers on the same machine.
 */
export class HttpConnection {
  /** @type {Buffer[]} */
  #chunks = [];
  #expectedBytes = -1;
  #received = 0;
  /** @type {{ resolve: (body: string) => void, reject: (error: Error) => void } | null} */
  #waiting = null;

  constructor(/** @type {import('node:net').Socket} */ socket, /** @type {string} */ head) {
    this.socket = socket;
    this.head = head;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  /** @returns {Promise<HttpConnection>} */
  static open(/** @type {URL} */ url, /** @type {Record<string, string>} */ headers) {
    const lines = Object.entries({ Host: url.host, 'Content-Type': 'application/json', ...headers });
    const head = `POST ${url.pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`;
    return new Promise((resolve, reject) => {
      const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new HttpConnection(socket, head)));
    });
  }

  /** Posts a body and returns the response body. Rejects unless the status is 200. @returns {Promise<string>} */
  post(/** @type {string} */ body) {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.socket.write(`${this.head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  }

  close() {
    this.socket.destroy();
  }

  #take(/** @type {Buffer} */ chunk) {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#expectedBytes < 0) this.#readHead();
    if (this.#expectedBytes < 0 || this.#received < this.#expectedBytes) return;
    const all = Buffer.concat(this.#chunks);
    const waiting = this.#waiting;
    const response = all.toString('utf8', all.indexOf('\r\n\r\n') + 4);
    this.#chunks = [];
    this.#expectedBytes = -1;
    this.#received = 0;
    this.#waiting = null;
    if (all.toString('latin1', 9, 12) === '200') waiting?.resolve(response);
    else waiting?.reject(new Error(`the server returned ${all.toString('utf8', 0, 1000)}`));
  }

  #readHead() {
    const all = Buffer.concat(this.#chunks);
    const end = all.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = /\r\ncontent-length: *(\d+)/i.exec(all.toString('latin1', 0, end))?.[1];
    if (length === undefined) this.#waiting?.reject(new Error('the response has no Content-Length'));
    else this.#expectedBytes = end + 4 + Number(length);
  }
}
