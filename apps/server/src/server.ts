import { ApiKeys, Authenticator } from '@app/access';
import type { Config } from '@app/config';
import { Agents } from '@app/execution';
import { JsonLogger } from '@app/logging';
import { DataDirectory, openStorage } from '@app/storage';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { authenticateRequests } from './edge/callers/authentication.hook.js';
import { rememberRequests } from './edge/http/client-errors.js';
import { ErrorFilter } from './edge/http/error.filter.js';
import { readRequestBodies } from './edge/http/request-body.js';
import { RouteTable } from './edge/routes/route-table.js';
import { StorableIdsPipe } from './edge/http/storable-ids.pipe.js';
import { createHttpAdapter, configureHttpServer, listen } from './http-server.js';
import { Metrics } from './monitoring/metrics.js';
import { ServerModule } from './server.module.js';

export interface RunningServer {
  readonly url: string;
  /** The path of the generated bearer token. Null for every other credential. */
  readonly tokenFile: string | null;
  /**
   * The credential of requests: none, the generated token in its file, the token of `ACTA_TOKEN`, an API key or identity token, or an
   * API key that must be created first.
   */
  readonly credential: 'none' | 'file' | 'variable' | 'key' | 'missing-key';
  close(): Promise<void>;
}

/**
 * Loads the agents, opens the storage and listens.
 *
 * @throws Error with one sentence for the person who starts the server
 */
export async function startServer(config: Config): Promise<RunningServer> {
  const logger = new JsonLogger(config.logLevel);
  Logger.overrideLogger(logger);
  const agents = await Agents.load(config.agents, config);
  const { databaseUrl, ownerDatabaseUrl, dataDir, secretKey } = config;
  const onError = (error: Error) => logger.warn({ message: 'database error', error }, 'storage');
  const storage = await openStorage({ databaseUrl, ownerDatabaseUrl, dataDir, secretKey, onError });
  try {
    const directory = new DataDirectory(dataDir);
    // A generated token would be valid on this replica only, so a shared database has API keys instead.
    const token = config.token ?? (databaseUrl === null ? await directory.token() : null);
    let url = '';
    const app = await NestFactory.create<NestFastifyApplication>(
      ServerModule.with({ config, storage, agents, token, publicUrl: () => config.publicUrl ?? url }),
      createHttpAdapter(config, (name) => agents.find(name) !== undefined),
      { logger, bodyParser: false, abortOnError: false },
    );
    configureRequests(app, config);
    configureHttpServer(app);
    url = await listen(app, config);
    const close = async () => {
      await app.close();
      await storage.close();
    };
    const credential = await credentialOf(config, app.get(ApiKeys));
    return { url, credential, tokenFile: credential === 'file' ? directory.tokenFile : null, close };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

async function credentialOf(
  { auth, token, databaseUrl, oidc }: Config,
  apiKeys: ApiKeys,
): Promise<RunningServer['credential']> {
  if (auth === 'none') return 'none';
  if (token !== null) return 'variable';
  if (databaseUrl === null) return 'file';
  return oidc !== null || (await apiKeys.exist()) ? 'key' : 'missing-key';
}

/** Registers what every request passes, before the routes of the controllers are registered. */
function configureRequests(app: NestFastifyApplication, config: Config): void {
  const fastify = app.getHttpAdapter().getInstance();
  app.get(Metrics).observe(fastify);
  rememberRequests(fastify);
  authenticateRequests(fastify, app.get(Authenticator), config);
  readRequestBodies(fastify);
  new RouteTable().observe(fastify);
  app.useGlobalFilters(new ErrorFilter());
  app.useGlobalPipes(new StorableIdsPipe());
}
