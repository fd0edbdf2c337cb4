import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { TOKEN } from '../support/processes/start-server.js';
import { useServer } from '../support/processes/spec-server.js';
import { AUTHENTICATED_CASES, CASES } from './cases.mjs';
import { runClient } from './client.mjs';
import { compareWithKnown, KNOWN_FAILURES } from './known-failures.mjs';
import { failuresIn, withResults } from './report.mjs';
import { SDKS } from './sdks.mjs';

const open = useServer({ ACTA_AUTH: 'none', ACTA_PUSH_ALLOW_PRIVATE: 'true' });
const authenticated = useServer({ ACTA_PUSH_ALLOW_PRIVATE: 'true' });
/** Operations that A2A 0.3 does not have. */
const ONLY_IN_1_0 = ['list', 'list-error'];

const javascript = SDKS.filter(({ language }) => language === 'JavaScript');
const clients = javascript.flatMap((sdk) => sdk.bindings.map((binding) => [sdk.protocol, binding, sdk] as const));

describe('The official JavaScript SDK', () => {
  it.each(clients)(
    'runs every operation of A2A %s over %s from the card that its resolver gets, open and with authentication',
    async (protocol, binding, sdk) => {
      const command = await sdk.install('');
      const results = await Promise.all([
        runClient(command, { url: open.url, binding, token: '' }),
        runClient(command, { url: authenticated.url, binding, token: TOKEN }),
      ]);
      const expected = Object.keys(CASES).filter((name) => protocol === '1.0' || !ONLY_IN_1_0.includes(name));
      expect(results.flat().filter(({ passed }) => !passed)).toEqual([]);
      expect(results.map((own) => own.map(({ name }) => name).toSorted())).toEqual([
        expected.filter((name) => !AUTHENTICATED_CASES.includes(name) && hasVerifier(name, protocol)).toSorted(),
        expected.filter((name) => hasVerifier(name, protocol)).toSorted(),
      ]);
    },
    60_000,
  );
});

/** The SDK of 0.3 has no function that verifies signatures. */
const hasVerifier = (name: string, protocol: string) => name !== 'card-signature' || protocol === '1.0';

describe('The results of the last run with all SDKs', () => {
  const page = readFileSync(new URL('../../docs/interop.md', import.meta.url), 'utf8');

  it('have no failure without a known reason', () => {
    const known = KNOWN_FAILURES.map((_, index) => String(index + 1));
    expect(new Set(failuresIn(page))).toEqual(new Set(known));
  });

  it.each(SDKS)('are those of the pinned version of the SDK $id', ({ package: name, version, protocol }) => {
    expect(page.replaceAll(/ +/g, ' ')).toContain(`| \`${name}\` | ${version} | ${protocol} |`);
  });
});

describe('The comparison with the known failures', () => {
  const passed = { sdk: 'javascript-1.0', binding: 'JSONRPC', server: 'open', name: 'send', passed: true };
  const failed = { ...passed, passed: false, error: 'no task' };
  const page = readFileSync(new URL('../../docs/interop.md', import.meta.url), 'utf8');

  it('reports a failure that is not known', () => {
    expect(compareWithKnown([failed])).toEqual(['javascript-1.0 JSONRPC open: send failed: no task']);
    expect(failuresIn(withResults(page, SDKS, [failed], []))).toEqual(['new']);
  });

  it('reports a known failure that passed', () => {
    const { sdk, binding, cases } = KNOWN_FAILURES[0]!;
    const result = { ...passed, sdk, binding: binding.split(', ')[0]!, name: cases[0]! };
    expect(compareWithKnown([result])).toContain(
      `${sdk} ${result.binding}: ${result.name} is in known-failures.mjs and passed`,
    );
  });

  it('accepts results without a failure', () => {
    expect(compareWithKnown([passed])).toEqual([]);
    expect(failuresIn(withResults(page, SDKS, [passed], []))).toEqual([]);
  });
});
