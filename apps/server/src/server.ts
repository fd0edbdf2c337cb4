import type { AddressInfo } from 'node:net';
import { Authenticator } from '@app/access';
import type { Config } from '@app/config';
import { Agents } from '@app/execution';
import { DataDirectory, openStorage } from '@app/storage';
import { ConsoleLogger, Logger, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { agentPaths } from './edge/agent-scope.js';
import type { EdgeRequest } from './edge/caller.js';
import { domainErrorOf, ErrorFilter } from './edge/error.filter.js';
import { guardEdge } from './edge/http-edge.js';
import { Routes } from './edge/routes.js';
import { StorableIds } from './edge/storable-ids.pipe.js';
import { answerOn } from './edge/surfaces.js';
import { Metrics } from './operations/metrics.js';
import { ServerModule } from './server.module.js';

/** A server that listens. */
export interface RunningServer {
  readonly url: string;
  /** Where the bearer token of the bootstrap admin can be read; null when it was given, or none is needed. */
  readonly tokenFile: string | null;
  close(): Promise<void>;
}

/** Opens the storage, loads the agents, and listens. What keeps it from starting is thrown as one sentence. */
export async function startServer(config: Config): Promise<RunningServer> {
  const agents = await Agents.load(config.agents, config);
  const { databaseUrl, dataDir, secretKey } = config;
  const onError = ({ message }: Error) => new Logger('storage').warn({ message });
  const storage = await openStorage({ databaseUrl, dataDir, secretKey, onError });
  try {
    const directory = new DataDirectory(dataDir);
    const token = config.token ?? (await directory.token());
    const { tls } = config;
    const trustProxy = typeof config.trustProxy === 'number' ? hopsBelow(config.trustProxy) : config.trustProxy;
    let url = '';
    const app = await NestFactory.create<NestFastifyApplication>(
      ServerModule.with({ config, storage, agents, token, publicUrl: () => config.publicUrl ?? url }),
      new FastifyAdapter({
        // The cap of Node on a request's head is enough: a long id is a task that does not exist.
        routerOptions: { ignoreTrailingSlash: true, maxParamLength: 65_536 },
        frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
          answerOn(request as EdgeRequest, reply, domainErrorOf(error)),
        rewriteUrl: agentPaths((name) => agents.find(name) !== undefined),
        trustProxy,
        ...(tls === null ? { http: CONNECTIONS } : { https: { ...CONNECTIONS, ...tls } }),
        // Fastify would set Node's own limit to none.
        requestTimeout: RECEIVE_MS,
        forceCloseConnections: 'idle',
      }),
      { logger: loggerOf(config), bodyParser: false, abortOnError: false },
    );
    app.get(Metrics).observe(app.getHttpAdapter().getInstance());
    guardEdge(app.getHttpAdapter().getInstance(), app.get(Authenticator), config);
    const routes = new Routes();
    routes.observe(app.getHttpAdapter().getInstance());
    app.useGlobalFilters(new ErrorFilter(routes));
    app.useGlobalPipes(new StorableIds());
    const http = app.getHttpServer();
    http.maxConnections = MAX_CONNECTIONS;
    const hangUp = () => http.closeAllConnections();
    app
      .getHttpAdapter()
      .getInstance()
      .addHook('preClose', async () => void setTimeout(hangUp, LINGER_MS).unref());
    await listen(app, config);
    const { port } = app.getHttpServer().address() as AddressInfo;
    const host = config.host.includes(':') ? `[${config.host}]` : config.host;
    url = `${tls === null ? 'http' : 'https'}://${host}:${port}`;
    const close = async () => {
      await app.close();
      await storage.close();
    };
    return { url, tokenFile: config.token === null && config.auth === 'required' ? directory.tokenFile : null, close };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** For a request to arrive, body and all. Answers may take as long as they do: sends wait, and streams go on. */
const RECEIVE_MS = 30_000;
const CONNECTIONS = { headersTimeout: 15_000, connectionsCheckingInterval: 5_000 };
/** Beyond the streams, sends and claims that may wait, so that those who come to ask something still can. */
const MAX_CONNECTIONS = 22_000;

/**
 * For answers that are still being written when all runs, sends and streams are over. A connection on which nothing was
 * asked yet counts as busy, and would otherwise hold up the end until its head is overdue.
 */
const LINGER_MS = 3_000;

/** Fastify's own `listen`, as Nest's would log what the caller is told anyway. */
async function listen(app: NestFastifyApplication, { port, host }: Config): Promise<void> {
  await app.init();
  await app
    .getHttpAdapter()
    .getInstance()
    .listen({ port, host })
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') {
        throw new Error(`PORT ${port} on ${host} is in use: stop what listens there, or set PORT to another one.`);
      }
      if (error.code === 'EACCES') throw new Error(`PORT ${port} is refused to this user: set PORT to 1024 or above.`);
      throw new Error(`HOST ${host} cannot be listened on (${error.message}): set HOST to an address of this machine.`);
    });
}

/** Trusts the given number of proxies, counted from this server. */
const hopsBelow = (proxies: number) => (_address: string, hop: number) => hop < proxies;

const NEST_LEVELS: Record<Config['logLevel'], LogLevel[]> = {
  silent: [],
  fatal: ['fatal'],
  error: ['fatal', 'error'],
  warn: ['fatal', 'error', 'warn'],
  info: ['fatal', 'error', 'warn', 'log'],
  debug: ['fatal', 'error', 'warn', 'log', 'debug'],
  trace: ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'],
};

/** One JSON object a line. Nest's own start-up lines are for debugging Acta, not for whoever runs it. */
function loggerOf({ logLevel }: Config): ConsoleLogger {
  const levels = NEST_LEVELS[logLevel];
  return new ConsoleLogger({ json: true, logLevels: logLevel === 'info' ? levels.filter((l) => l !== 'log') : levels });
}
