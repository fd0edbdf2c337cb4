import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WebhookFixture } from '../../../../test/support/webhook-fixture.js';

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await WebhookFixture.open();
});
afterEach(() => fixture?.close());

const OK = 'HTTP/1.1 200 OK\r\n';

/** Starts a TCP server that sends what a test chooses after each request, and counts its requests. */
async function rawTarget(respond: (socket: Socket, nth: number) => void) {
  const sockets = new Set<Socket>();
  let requests = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket
      .on('error', () => undefined)
      .on('close', () => sockets.delete(socket))
      .on('data', (chunk) => {
        text += chunk.toString('latin1');
        const [head, body] = text.split('\r\n\r\n', 2) as [string, string | undefined];
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        if (body === undefined || body.length < length) return;
        text = '';
        respond(socket, (requests += 1));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  fixture.atEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/hook`, requests: () => requests, sockets };
}

describe('A delivery', () => {
  it.each<[string, string, (socket: Socket) => void]>([
    [
      'the target resets the connection',
      'the connection failed (ECONNRESET)',
      (socket) => void socket.resetAndDestroy(),
    ],
    ['the target closes the connection', 'the connection failed (ECONNRESET)', (socket) => void socket.end()],
    [
      'the response is not HTTP',
      'the response is not valid HTTP',
      (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
    ],
    [
      'the target responds with the status 101',
      'the connection failed (ECONNRESET)',
      (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
    ],
    [
      'the target sends informational responses without an end',
      'no response within 1 s',
      (socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), 10);
        socket.on('close', () => clearInterval(timer));
      },
    ],
    [
      'the target sends its response headers byte by byte',
      'no response within 1 s',
      (socket) => {
        socket.write(OK);
        const timer = setInterval(() => socket.write('X'), 10);
        socket.on('close', () => clearInterval(timer));
      },
    ],
    [
      'the response headers are too large',
      'the connection failed (HPE_HEADER_OVERFLOW)',
      (socket) => void socket.end(`${OK}X-Large: ${'x'.repeat(64 * 1024)}\r\n\r\n`),
    ],
  ])('is repeated when %s', async (_when, error, fail) => {
    const target = await rawTarget((socket, nth) =>
      nth === 1 ? fail(socket) : void socket.end(`${OK}Content-Length: 0\r\nConnection: close\r\n\r\n`),
    );
    fixture.startSender({ timeoutMs: 1_000, backoffMs: 500, maxBackoffMs: 500 });
    const taskId = await fixture.runTask(target.url, 'a');
    expect(await fixture.untilAttempted(taskId)).toMatchObject({ lastError: error });
    expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'delivered']);
  });

  it('is accepted when informational responses precede the status 200', async () => {
    const target = await rawTarget((socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
      socket.end(`${OK}Content-Length: 0\r\n\r\n`);
    });
    fixture.startSender();
    const taskId = await fixture.runTask(target.url, 'a');
    expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(target.requests()).toBe(3);
  });

  it.each<[string, (socket: Socket) => void]>([
    [
      'never ends',
      (socket) => {
        socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
        const timer = setInterval(() => socket.write('1\r\nx\r\n'), 20);
        socket.on('close', () => clearInterval(timer));
      },
    ],
    ['is silent after its headers', (socket) => void socket.write(`${OK}Content-Length: 10\r\n\r\n`)],
    [
      'is larger than 64 KiB',
      (socket) => {
        socket.write(`${OK}Content-Length: 1000000000000\r\n\r\n`);
        const fill = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(16 * 1024)));
        };
        socket.on('drain', fill);
        fill();
      },
    ],
    ['is cut off', (socket) => void socket.end(`${OK}Content-Length: 10\r\n\r\nabc`)],
  ])(
    'is accepted by its status when the body of the response %s, and the connection closes',
    async (_what, respond) => {
      const target = await rawTarget(respond);
      fixture.startSender();
      const taskId = await fixture.runTask(target.url, 'a');
      expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'delivered']);
      expect(target.requests()).toBe(3);
      while (target.sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  );

  it('is repeated when the TLS handshake fails', async () => {
    const hook = await fixture.receiver();
    fixture.startSender({ backoffMs: 600_000, maxBackoffMs: 600_000 });
    const taskId = await fixture.runTask(hook.urlOf().replace('http:', 'https:'), 'a');
    const attempted = await fixture.untilAttempted(taskId);
    expect(attempted).toMatchObject({ state: 'pending', attempts: 1 });
    expect(attempted.lastError).toMatch(/^the connection failed \(\w+\)$/);
    expect(hook.received).toHaveLength(0);
  });

  it.each(['EAI_AGAIN', 'ENOTFOUND', 'ESERVFAIL', 'ETIMEOUT'])(
    'is repeated when the host does not resolve (%s)',
    async (code) => {
      const hook = await fixture.receiver();
      let lookups = 0;
      const resolve = async () => {
        lookups += 1;
        if (lookups <= 2) throw Object.assign(new Error('queryA hook.example'), { code });
        return [{ address: '127.0.0.1', family: 4 }];
      };
      fixture.startSender({ resolve, backoffMs: 400, maxBackoffMs: 400 });
      const taskId = await fixture.runTask(`http://hook.example:${hook.port}/hook`, 'a');
      expect(await fixture.untilAttempted(taskId)).toMatchObject({ lastError: `the host does not resolve (${code})` });
      expect(await fixture.untilSettled(taskId)).toEqual(['delivered', 'delivered', 'delivered']);
      expect((await fixture.deliveries(taskId))[0]).toMatchObject({ attempts: 3 });
    },
  );
});
