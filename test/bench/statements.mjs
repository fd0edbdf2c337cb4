import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { BOOTSTRAP_ADMIN } from '../../dist/libs/access/src/index.js';
import { readConfig } from '../../dist/libs/config/src/index.js';
import { Agents } from '../../dist/libs/execution/src/index.js';
import { openStorage } from '../../dist/libs/storage/src/index.js';
import { CancelTask, GetTask, ListTasks, SendMessage } from '../../dist/libs/tasks/src/index.js';
import { RETRY_BACKOFF_MS, ServerModule } from '../../dist/apps/server/src/server.module.js';
import { SECRET } from './peers.mjs';

/**
 * An Acta of this process without its HTTP, for what cannot be seen from outside.
 *
 * @param {string} databaseUrl
 */
export async function openActa(databaseUrl) {
  const config = readConfig({ DATABASE_URL: databaseUrl, ACTA_SECRET_KEY: SECRET, LOG_LEVEL: 'warn' });
  const retry = { attempts: config.maxAttempts, backoffMs: RETRY_BACKOFF_MS };
  const agents = await Agents.load(config.agents, { retry, demoFaults: false });
  const storage = await openStorage(config);
  const options = { config, storage, agents, token: randomUUID(), publicUrl: () => 'http://127.0.0.1' };
  const context = await NestFactory.createApplicationContext(ServerModule.with(options), { logger: ['error', 'warn'] });
  const close = async () => {
    await context.close();
    await storage.close();
  };
  return { storage, commands: context.get(CommandBus), queries: context.get(QueryBus), close };
}

/** Everything that goes through the pool while some work is done, in order: each is one round trip. */
export async function recordQueries(/** @type {() => Promise<unknown>} */ work) {
  /** @type {{ name: string, text: string, values: unknown[] }[]} */
  const queries = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (/** @type {any} */ first, /** @type {any} */ values, ...rest) {
    // Other processes are told on a connection of its own, once for many commands.
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

/** Round trips of every command and query, from the call to its answer. */
export async function countStatements(/** @type {string} */ databaseUrl) {
  const { commands, queries, close } = await openActa(databaseUrl);
  const message = (/** @type {string} */ text) => ({ messageId: randomUUID(), role: 'user', parts: [{ text }] });
  const send = async (/** @type {object} */ message, /** @type {string | undefined} */ taskId) => {
    const { follower, taskId: sentTo } = await commands.execute(
      new SendMessage(BOOTSTRAP_ADMIN, { message, answered: false, ...(taskId === undefined ? {} : { taskId }) }),
    );
    await follower.untilOutcome();
    await follower.view();
    return sentTo;
  };
  try {
    const first = message('hello');
    const done = await send(first);
    const asking = await send(message('ask'));
    const waiting = await send(message('ask'));
    /** @type {[string, () => Promise<unknown>][]} */
    const work = [
      ['SendMessage, new task, to its end', () => send(message('hello'))],
      ['SendMessage, next turn, to its end', () => send(message('hello again'), asking)],
      ['SendMessage, exact replay', () => send(first)],
      ['GetTask', () => queries.execute(new GetTask(BOOTSTRAP_ADMIN, done))],
      ['ListTasks, a page of 4', () => queries.execute(new ListTasks(BOOTSTRAP_ADMIN, {}))],
      ['CancelTask', () => commands.execute(new CancelTask(BOOTSTRAP_ADMIN, waiting))],
    ];
    const counted = [];
    for (const [command, run] of work) {
      const sent = (await recordQueries(run)).filter(({ name }) => !BACKGROUND.has(name));
      counted.push({ command, roundTrips: sent.length, names: sent.map(({ name }) => name) });
    }
    return counted;
  } finally {
    await close();
  }
}

/** What the server does by the clock, whether or not anyone asks. */
const BACKGROUND = new Set(['poll_versions', 'heartbeat']);
