import { join } from 'node:path';
import { expect } from '@jest/globals';
import { http, type HttpResponse } from '../support/clients/rpc.js';
import { DatabaseView } from '../support/database/database-view.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { type RunningServer, startServer } from '../support/processes/start-server.js';
import { DatabaseProxy } from './fleet/database-proxy.js';

/** A server that reaches its database through a proxy. */
export interface ProxiedServer {
  readonly server: RunningServer;
  readonly proxy: DatabaseProxy;
  /** Reads the database without the proxy. */
  readonly view: DatabaseView;
  /** Stops the server and drops its database. */
  close(): Promise<void>;
}

/** Starts a server on a new test database, behind a proxy. */
export async function startProxiedServer(): Promise<ProxiedServer> {
  const database = await createTestDatabase();
  const view = new DatabaseView(database.url);
  const { searchParams } = new URL(database.url);
  const proxy = await DatabaseProxy.listen(join(searchParams.get('host')!, `.s.PGSQL.${searchParams.get('port')}`));
  const server = await startServer({ databaseUrl: proxy.url(searchParams.get('user')!, database.name) });
  const close = async () => {
    proxy.resume();
    await server.stop();
    await proxy.close();
    await view.close();
    await database.drop();
  };
  return { server, proxy, view, close };
}

/** Expects that every response and the readiness probe report that the database is unavailable. */
export async function expectUnavailable(serverUrl: string, responses: readonly HttpResponse[]): Promise<void> {
  for (const { status, headers, text } of responses) {
    expect([status, text]).toEqual([503, expect.stringContaining('the database is unavailable')]);
    expect(headers.get('retry-after')).toBe('1');
  }
  expect((await http('GET', `${serverUrl}/health/ready`, null)).status).toBe(503);
}
