import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { quantiles } from '../quantiles.mjs';

// Measures the maximum throughput of this Postgres: transactions of one 1 KiB row, one after the other on each connection.
const { url, connections, warmUpMs, forMs } = JSON.parse(process.argv[2]);

const clients = await Promise.all(
  Array.from({ length: connections }, async () => {
    const client = new pg.Client(url);
    await client.connect();
    return client;
  }),
);
await clients[0].query(
  'create table if not exists raw_insert (id bigint generated always as identity primary key, body bytea not null)',
);
const insert = { name: 'insert', text: 'insert into raw_insert (body) values ($1)', values: [randomBytes(1024)] };

const start = performance.now() + warmUpMs;
const end = start + forMs;
/** @type {number[]} */
const latencies = [];
await Promise.all(
  clients.map(async (client) => {
    for (let sent = performance.now(); sent < end;) {
      await client.query(insert);
      const now = performance.now();
      if (sent >= start && now <= end) latencies.push(now - sent);
      sent = now;
    }
    await client.end();
  }),
);
console.log(JSON.stringify({ perSecond: (latencies.length * 1000) / forMs, ...quantiles(latencies) }));
