import { Authenticator } from '@app/access';
import type { Config } from '@app/config';
import { Agents } from '@app/execution';
import { JsonLogger } from '@app/logging';
import { DataDirectory, openStorage } from '@app/storage';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { authenticateRequests } from './edge/callers/authentication.hook.js';
import { ErrorFilter } from './edge/http/error.filter.js';
import { readRequestBodies } from './edge/http/request-body.js';
import { RouteTable } from './edge/routes/route-table.js';
import { StorableIdsPipe } from './edge/http/storable-ids.pipe.js';
import { createHttpAdapter, limitConnections, listen } from './http-server.js';
import { Metrics } from './monitoring/metrics.js';
import { ServerModule } from './server.module.js';

export interface RunningServer {
  readonly url: string;
  /** The path of the generated bearer token. Null if the token is configured, or if the server needs none. */
  readonly tokenFile: string | null;
  /** False if requests need no credential. */
  readonly needsToken: boolean;
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
    const token = config.token ?? (await directory.token());
    let url = '';
    const app = await NestFactory.create<NestFastifyApplication>(
      ServerModule.with({ config, storage, agents, token, publicUrl: () => config.publicUrl ?? url }),
      createHttpAdapter(config, (name) => agents.find(name) !== undefined),
      { logger, bodyParser: false, abortOnError: false },
    );
    configureRequests(app, config);
    limitConnections(app);
    url = await listen(app, config);
    const close = async () => {
      await app.close();
      await storage.close();
    };
    const needsToken = config.auth === 'required';
    return { url, tokenFile: needsToken && config.token === null ? directory.tokenFile : null, needsToken, close };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** Registers what every request passes, before the routes of the controllers are registered. */
function configureRequests(app: NestFastifyApplication, config: Config): void {
  const fastify = app.getHttpAdapter().getInstance();
  app.get(Metrics).observe(fastify);
  authenticateRequests(fastify, app.get(Authenticator), config);
  readRequestBodies(fastify);
  new RouteTable().observe(fastify);
  app.useGlobalFilters(new ErrorFilter());
  app.useGlobalPipes(new StorableIdsPipe());
}
