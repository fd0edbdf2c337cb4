import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Chooses the names that the tests of one run share: the folder of their Postgres, and the template database. The first test
 * that needs a database creates both, so that a run of unit tests does not start Postgres. (Jest maps no imports here.)
 */
export default async function globalSetup(): Promise<void> {
  process.env['ACTA_TEST_RUN'] = `${process.pid}_${Date.now().toString(36)}`;
  if (process.env['TEST_DATABASE_URL'] === undefined) {
    process.env['ACTA_TEST_DATA_DIR'] = await mkdtemp(join(tmpdir(), `acta-test-${process.pid}-`));
  }
}
