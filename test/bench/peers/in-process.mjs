import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { readConfig } from '../../../dist/libs/config/src/index.js';
import { Agents } from '../../../dist/libs/execution/src/index.js';
import { openStorage } from '../../../dist/libs/storage/src/index.js';
import { ServerModule } from '../../../dist/apps/server/src/server.module.js';
import { SECRET } from './peers.mjs';

/**
 * Opens Acta in this process, without HTTP, for measurements that need its internals.
 *
 * @param {string} databaseUrl
 */
export async function openActa(databaseUrl) {
  const config = readConfig({ DATABASE_URL: databaseUrl, ACTA_SECRET_KEY: SECRET, LOG_LEVEL: 'warn' });
  const agents = await Agents.load(config.agents, config);
  const storage = await openStorage(config);
  const options = { config, storage, agents, token: randomUUID(), publicUrl: () => 'http://127.0.0.1' };
  const context = await NestFactory.createApplicationContext(ServerModule.with(options), { logger: ['error', 'warn'] });
  const close = async () => {
    await context.close();
    await storage.close();
  };
  return { storage, commands: context.get(CommandBus), queries: context.get(QueryBus), close };
}

/** Returns the queries that some work sends to Postgres, in order. Each one is one round trip. */
export async function recordQueries(/** @type {() => Promise<unknown>} */ work) {
  /** @type {{ name: string, text: string, values: unknown[] }[]} */
  const queries = [];
  // oxlint-disable-next-line typescript/unbound-method -- called with its client below
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (/** @type {any} */ first, /** @type {any} */ values, ...rest) {
    // Notifications of other processes have their own connection, and one covers many commands.
    if (this.connectionParameters.application_name !== 'acta-wakeups') {
      const text = typeof first === 'string' ? first : first.text;
      queries.push({
        name: first.name ?? text.trim().split(/\s+/, 2).join(' '),
        text,
        values: first.values ?? values ?? [],
      });
    }
    return query.call(this, first, values, ...rest);
  };
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return queries;
}
