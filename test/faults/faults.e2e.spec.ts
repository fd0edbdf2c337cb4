import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createDataDir } from '../support/acta-process.js';
import { PostgresCluster } from './postgres-cluster.js';
import { storm } from './storm.js';

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await PostgresCluster.start(await createDataDir());
}, 90_000);
afterAll(() => cluster?.close());

// F37, in short: `npm run test:faults -- --storms 50` is all of it.
it('keeps every promise through a storm of kills, cuts and restarts', async () => {
  const { tasks, faults, violations } = await storm(cluster, { seed: 7, seconds: 5 });
  expect(violations).toEqual([]);
  expect(tasks).toBeGreaterThan(5);
  expect(Object.keys(faults).length).toBeGreaterThan(2);
}, 120_000);

it('notices when the fence is gone from the statement that appends', async () => {
  const { violations } = await storm(cluster, { seed: 3, seconds: 5, breakFence: true });
  expect(violations).toContainEqual(expect.stringContaining('whose lease had been over'));
}, 120_000);
