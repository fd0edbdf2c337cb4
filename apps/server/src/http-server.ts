import type { AddressInfo } from 'node:net';
import type { Config } from '@app/config';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { rewriteAgentPath } from './edge/callers/agent-scope.js';
import type { EdgeRequest } from './edge/callers/edge-request.js';
import { MAX_HEADER_BYTES, respondToClientError } from './edge/http/client-errors.js';
import { toRequestError } from './edge/http/error.filter.js';
import { rejectUnread } from './edge/http/json-response.js';

/** How long a client may take to send a request with its body. A response may take longer. */
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTION_OPTIONS = {
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  // An identity token with 100 rings of 256 ASCII characters has about 37 KB.
  maxHeaderSize: MAX_HEADER_BYTES,
  // Node would respond without a body. The authentication hook rejects requests without Host.
  requireHostHeader: false,
};
/** More than all streams, blocking sends and waiting claims together, so that other requests still get a connection. */
const MAX_CONNECTIONS = 22_000;
/**
 * How long shutdown waits for connections that are still open when all runs, blocking sends and streams have ended. Node
 * counts a connection without a request as busy, and would wait for it until `headersTimeout`.
 */
const CLOSE_TIMEOUT_MS = 3_000;

/** Returns the HTTP adapter of a server. `isAgent` returns whether a name in `/agents/{name}/…` is an agent. */
export function createHttpAdapter({ tls, trustProxy }: Config, isAgent: (name: string) => boolean): FastifyAdapter {
  return new FastifyAdapter({
    // Node limits the length of the URL. A long id is the id of a task that does not exist.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 65_536 },
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      rejectUnread(request as EdgeRequest, reply, toRequestError(error)),
    clientErrorHandler: respondToClientError,
    rewriteUrl: rewriteAgentPath(isAgent),
    trustProxy: typeof trustProxy === 'number' ? trustProxies(trustProxy) : trustProxy,
    ...(tls === null ? { http: CONNECTION_OPTIONS } : { https: { ...CONNECTION_OPTIONS, ...tls } }),
    // The default of Fastify is no timeout.
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle',
  });
}

/** Sets what Fastify has no option for, and closes the connections that are still open some time after shutdown has begun. */
export function configureHttpServer(app: NestFastifyApplication): void {
  const http = app.getHttpServer();
  http.maxConnections = MAX_CONNECTIONS;
  // By default, Node drops the headers after the first 2,000, and a second Authorization among them. Their size is limited.
  http.maxHeadersCount = 0;
  // Node would respond with 417 and without a body. An expectation can be ignored (RFC 9110 section 10.1.1).
  http.on('checkExpectation', (request, response) => http.emit('request', request, response));
  const closeAll = () => http.closeAllConnections();
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('preClose', async () => void setTimeout(closeAll, CLOSE_TIMEOUT_MS).unref());
}

/**
 * Listens, and returns the URL. It uses `listen` of Fastify, because that of Nest also logs the error that is thrown.
 *
 * @throws Error with one sentence that names the variable to change
 */
export async function listen(app: NestFastifyApplication, { port, host, tls }: Config): Promise<string> {
  await app.init();
  await app
    .getHttpAdapter()
    .getInstance()
    .listen({ port, host })
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') {
        throw new Error(`PORT ${port} on ${host} is in use: stop the process that listens there, or set another PORT.`);
      }
      if (error.code === 'EACCES') {
        throw new Error(`PORT ${port} is not allowed for this user: set PORT to 1024 or above.`);
      }
      throw new Error(`HOST ${host} is not usable (${error.message}): set HOST to an address of this machine.`);
    });
  const address = app.getHttpServer().address() as AddressInfo;
  const hostInUrl = host.includes(':') ? `[${host}]` : host;
  return `${tls === null ? 'http' : 'https'}://${hostInUrl}:${address.port}`;
}

/** Trusts the given number of proxies in front of this server. */
const trustProxies = (proxies: number) => (_address: string, hop: number) => hop < proxies;
