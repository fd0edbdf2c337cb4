/**
 * One test of the kit on one transport.
 *
 * @typedef {{ requirement: string, test: string, transport: string, outcome: 'passed' | 'failed' | 'skipped', reason: string }} Outcome
 */

/**
 * The outcomes by the value of `ACTA_CARD_VERSION`.
 *
 * @typedef {Record<string, Outcome[]>} Results
 */

const KINDS = ['passed', 'failed', 'skipped'];
const BINDINGS = { jsonrpc: 'jsonrpc', http_json: 'http_json', rest: 'http_json', grpc: 'grpc' };

/**
 * Reads the outcome of each test from the reports of the kit: outcomes and reasons from JUnit, requirements from the compatibility
 * report.
 *
 * @param {string} junit XML
 * @param {{ per_requirement: Record<string, { test_ids: string[] }> }} compatibility
 * @returns {Outcome[]}
 */
export function outcomesOf(junit, compatibility) {
  const requirements = Object.entries(compatibility.per_requirement);
  return [...junit.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)].map(([, attributes, body = '']) => {
    const id = `${attribute(attributes, 'classname')}.${attribute(attributes, 'name')}`;
    const recorded = requirements.find(([, { test_ids }]) => test_ids.some((test) => dotted(test) === id))?.[0];
    const test = id.replace(/^tests\.compatibility\./, '').replace(/\w+\.(?=test_)/, '');
    return {
      requirement: /\[([A-Z_]+-[A-Z0-9-]+?\d[a-z]?)-\w+\]$/.exec(id)?.[1] ?? recorded ?? '',
      test: test.replace(/\[.*\]$/, ''),
      transport: transportOf(id),
      ...verdictOf(body),
    };
  });
}

/** Reads the outcome of one test. The kit reports an unmet SHOULD or MAY as an expected failure, which is a failure here. */
function verdictOf(/** @type {string} */ body) {
  const element = /<(failure|error|skipped) ([^>]*)>/.exec(body);
  if (element === null) return { outcome: /** @type {const} */ ('passed'), reason: '' };
  const skipped = element[1] === 'skipped' && attribute(element[2], 'type') === 'pytest.skip';
  const [first = ''] = attribute(element[2], 'message').split('\n');
  // Session ids of the kit are removed, because they would change the table on every run.
  const reason = first.replace(/^(AssertionError|Failed): /, '').replace(/\b(tck-[\w-]+?)-[0-9a-f]{8}\b/g, '$1');
  return { outcome: /** @type {'failed' | 'skipped'} */ (skipped ? 'skipped' : 'failed'), reason };
}

function transportOf(/** @type {string} */ id) {
  const suffix =
    /\[(?:.*-)?(grpc|jsonrpc|http_json)\]$/.exec(id) ??
    /(?:_|compatibility\.)(jsonrpc|http_json|rest|grpc)(?=[._[]|$)/.exec(id);
  if (suffix !== null) return BINDINGS[/** @type {keyof typeof BINDINGS} */ (suffix[1])];
  const inClass = /\.Test\w*?(JsonRpc|HttpJson|Rest|Grpc)/.exec(id)?.[1];
  if (inClass === undefined) return 'card';
  return { JsonRpc: 'jsonrpc', HttpJson: 'http_json', Rest: 'http_json', Grpc: 'grpc' }[inClass] ?? 'card';
}

/**
 * Merges the outcomes of all runs. A test that the first run skipped has the outcome of the later run that executed it.
 *
 * @param {{ name: string, outcomes: Outcome[] }[]} runs
 * @param {string[]} transports
 * @returns {Outcome[]}
 */
export function merged([first, ...others], transports) {
  return first.outcomes
    .filter(({ requirement, transport }) => requirement !== '' && ['card', ...transports].includes(transport))
    .map((outcome) => {
      if (outcome.outcome !== 'skipped') return outcome;
      for (const { name, outcomes } of others) {
        const later = outcomes.find(
          ({ test, transport, outcome: result }) =>
            test === outcome.test && transport === outcome.transport && result !== 'skipped',
        );
        if (later !== undefined) return { ...later, reason: [`with ${name}`, later.reason].filter(Boolean).join(': ') };
      }
      return outcome;
    });
}

/**
 * Formats the outcomes as a Markdown page.
 *
 * @param {{ commit: string, results: Results, untested: string[], transports: string[] }} report
 */
export function tableOf({ commit, results, untested, transports }) {
  const cards = Object.keys(results);
  const sums = cards.flatMap((card) =>
    [...transports, 'card'].map((transport) => {
      const counts = KINDS.map(
        (kind) => results[card].filter((one) => one.outcome === kind && one.transport === transport).length,
      );
      return row([card, transport, ...counts]);
    }),
  );
  const rank = (/** @type {(Outcome | undefined)[]} */ of) =>
    Math.max(...of.map((one) => ['passed', 'skipped', 'failed'].indexOf(one?.outcome ?? 'skipped')));
  const rows = sideBySide(Object.values(results))
    .toSorted((a, b) => rank(b) - rank(a))
    .map((same) => {
      const { requirement, test, transport } = /** @type {Outcome} */ (same.find((one) => one !== undefined));
      const reasons = [...new Set(same.map((one) => one?.reason ?? ''))].filter((reason) => reason !== '');
      const outcomes = same.map((one) => one?.outcome ?? 'absent');
      return row([requirement, `\`${test}\``, transport, ...outcomes, cell(reasons.join('; '))]);
    });
  return `# Results of the A2A TCK

Written by \`npm run test:tck\` from the kit's own reports; do not edit. The kit is a2aproject/a2a-tck, branch 1.0-dev,
commit ${commit}. A skip is not a pass. Each failure is in \`deviations.md\`, with the
sentence of the specification that it contradicts. The kit runs once for each value of \`ACTA_CARD_VERSION\` in the tables.

${row(['ACTA_CARD_VERSION', 'transport', ...KINDS])}
${row(Array(5).fill('---'))}
${sums.join('\n')}

${row(['requirement', 'test', 'transport', ...cards, 'reason'])}
${row(Array(4 + cards.length).fill('---'))}
${rows.join('\n')}

Requirements that the kit lists and does not test: ${untested.toSorted().join(', ')}.
`;
}

/**
 * Puts the outcomes of the same test beside each other. A test with parameters has several outcomes, in the order of its parameters.
 *
 * @param {Outcome[][]} results
 */
function sideBySide(results) {
  /** @type {Map<string, (Outcome | undefined)[]>} */
  const rows = new Map();
  for (const [index, outcomes] of results.entries()) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const outcome of outcomes) {
      const id = `${outcome.requirement} ${outcome.test} ${outcome.transport}`;
      const count = (counts.get(id) ?? 0) + 1;
      counts.set(id, count);
      const same = rows.get(`${id} ${count}`) ?? results.map(() => undefined);
      same[index] = outcome;
      rows.set(`${id} ${count}`, same);
    }
  }
  return [...rows.values()];
}

/**
 * Compares the failures with the list of deviations. Returns the differences.
 *
 * @param {Pick<Outcome, 'requirement' | 'transport' | 'outcome'>[]} outcomes
 * @param {string} deviations Markdown with a heading \`## REQUIREMENT (transport, transport)\` for each deviation
 */
export function compareWithDeviations(outcomes, deviations) {
  const failed = new Set(
    outcomes
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ requirement, transport }) => `${requirement} ${transport}`),
  );
  const listed = new Set(
    [...deviations.matchAll(/^## ([\w-]+) \(([\w, ]+)\)$/gm)].flatMap(([, requirement, transports]) =>
      transports.split(', ').map((transport) => `${requirement} ${transport}`),
    ),
  );
  return [
    ...[...failed].filter((one) => !listed.has(one)).map((one) => `${one} fails and is not in deviations.md`),
    ...[...listed].filter((one) => !failed.has(one)).map((one) => `${one} is in deviations.md and does not fail`),
  ];
}

/**
 * Reads the rows of a page that `tableOf` has written.
 *
 * @param {string} markdown
 * @returns {Pick<Outcome, 'requirement' | 'transport' | 'outcome'>[]}
 */
export function readTable(markdown) {
  return [
    ...markdown.matchAll(/^\| ([\w-]*) \| `[^`]*` \| (\w+) \| ((?:(?:passed|failed|skipped|absent) \| )+)/gm),
  ].flatMap(([, requirement, transport, outcomes]) =>
    outcomes
      .split(' | ')
      .filter((outcome) => KINDS.includes(outcome))
      .map((outcome) => ({ requirement, transport, outcome: /** @type {Outcome['outcome']} */ (outcome) })),
  );
}

function attribute(/** @type {string} */ attributes, /** @type {string} */ name) {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}

/** \`tests/a/test_b.py::TestC::test_d\` as JUnit writes it. */
const dotted = (/** @type {string} */ test) => test.replace('.py::', '.').replaceAll('::', '.').replaceAll('/', '.');

const row = (/** @type {(string | number)[]} */ cells) => `| ${cells.join(' | ')} |`;

const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
