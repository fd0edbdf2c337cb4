import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createDataDir } from '../support/processes/acta-process.js';
import { PostgresCluster } from './fleet/postgres-cluster.js';
import { storm } from './storm.js';

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await PostgresCluster.start(await createDataDir());
}, 90_000);
afterAll(() => cluster?.close());

// F37, in short: `npm run test:faults -- --storms 50` is all of it.
it('keeps every promise through a storm of kills, cuts and restarts', async () => {
  const { tasks, remote, webhooks, faults, violations } = await storm(cluster, { seed: 7, seconds: 5 });
  expect(violations).toEqual([]);
  expect(tasks).toBeGreaterThan(5);
  expect(remote).toBeGreaterThan(0);
  expect(webhooks).toBeGreaterThan(0);
  expect(Object.keys(faults).length).toBeGreaterThan(2);
}, 300_000);

it('notices when the fence is gone from the statement that appends', async () => {
  // What comes too late must meet a lease that is over and a run that nobody has taken back yet: not every storm has it.
  for (const seed of [3, 4, 5]) {
    const { violations } = await storm(cluster, { seed, seconds: 5, breakFence: true });
    if (violations.some((violation) => violation.includes('whose lease had been over'))) return;
  }
  throw new Error('three storms without a fence, and no write whose lease had been over was found');
}, 300_000);
