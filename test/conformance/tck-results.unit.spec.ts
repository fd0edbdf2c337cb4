import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { compareWithDeviations, outcomesOf, readTable, tableOf } from './tck-report.mjs';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const results = read('tck-results.md');

describe('The results of the last TCK run', () => {
  it('contain no failure that is not listed in deviations.md', () => {
    expect(readTable(results).length).toBeGreaterThan(100);
    expect(compareWithDeviations(readTable(results), read('deviations.md'))).toEqual([]);
  });

  it('belong to the pinned commit of the TCK', () => {
    const { tck } = JSON.parse(read('../../contracts/a2a-contract.json')) as { tck: { commit: string } };
    expect(results).toContain(`commit ${tck.commit}`);
  });
});

describe('The TCK report', () => {
  const junit = `<testsuites><testsuite>
    <testcase classname="tests.compatibility.core_operations.test_requirements" name="test_must_requirement[CORE-SEND-001-jsonrpc]" time="0.1" />
    <testcase classname="tests.compatibility.core_operations.test_data_model.TestShould" name="test_should[http_json]" time="0.1"><skipped type="pytest.xfail" message="DM-X-001 failed: &quot;tck-a-0a1b2c3d&quot;&#10;more" /></testcase>
    <testcase classname="tests.compatibility.grpc.test_streaming.TestGrpcStreaming" name="test_one"><skipped type="pytest.skip" message="not configured">where</skipped></testcase>
  </testsuite></testsuites>`;
  const compatibility = {
    per_requirement: {
      'DM-X-001': {
        test_ids: ['tests/compatibility/core_operations/test_data_model.py::TestShould::test_should[http_json]'],
      },
    },
  };
  const outcomes = outcomesOf(junit, compatibility);

  it('counts an unmet SHOULD as a failure and a skip as a skip', () => {
    expect(outcomes).toEqual([
      {
        requirement: 'CORE-SEND-001',
        test: 'test_requirements.test_must_requirement',
        transport: 'jsonrpc',
        outcome: 'passed',
        reason: '',
      },
      {
        requirement: 'DM-X-001',
        test: 'test_data_model.TestShould.test_should',
        transport: 'http_json',
        outcome: 'failed',
        reason: 'DM-X-001 failed: "tck-a"',
      },
      {
        requirement: '',
        test: 'test_streaming.TestGrpcStreaming.test_one',
        transport: 'grpc',
        outcome: 'skipped',
        reason: 'not configured',
      },
    ]);
  });

  it('lists failures without a deviation and deviations without a failure, from the table that it has written', () => {
    const transports = ['jsonrpc', 'http_json'];
    const results = { compatible: outcomes, '1.0': outcomes.filter(({ outcome }) => outcome !== 'failed') };
    const page = tableOf({ commit: 'c', results, untested: [], transports });
    const table = readTable(page);
    expect(page).toContain('| DM-X-001 | `test_data_model.TestShould.test_should` | http_json | failed | absent |');
    expect(page).toContain('| CORE-SEND-001 | `test_requirements.test_must_requirement` | jsonrpc | passed | passed |');
    expect(table).toHaveLength(2 * outcomes.length - 1);
    expect(compareWithDeviations(table, '## DM-X-001 (http_json)')).toEqual([]);
    expect(compareWithDeviations(table, '## CORE-SEND-001 (jsonrpc)')).toEqual([
      'DM-X-001 http_json fails and is not in deviations.md',
      'CORE-SEND-001 jsonrpc is in deviations.md and does not fail',
    ]);
  });
});
