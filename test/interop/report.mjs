import { AUTHENTICATED_CASES, CASES } from './cases.mjs';
import { KNOWN_FAILURES } from './known-failures.mjs';

/**
 * The result of one case of one client. `server` is `open` or `authenticated`.
 *
 * @typedef {{ sdk: string, binding: string, server: string, name: string, passed: boolean, error?: string }} Result
 */

const START = '<!-- The results start here. `npm run test:extended -- --only interop` writes them. -->';
const END = '<!-- The results end here. -->';

/**
 * Replaces the results in the page.
 *
 * @param {string} page Markdown
 * @param {readonly import('./sdks.mjs').Sdk[]} sdks
 * @param {readonly Result[]} results
 * @param {readonly string[]} inspector lines about the rules of a2a-inspector
 */
export function withResults(page, sdks, results, inspector) {
  const [before, rest] = page.split(START);
  const [, after] = (rest ?? '').split(END);
  if (after === undefined) throw new Error('docs/interop.md does not contain the comments around the results');
  return `${before}${START}\n\n${sections(sdks, results, inspector).join('\n\n')}\n\n${END}${after}`;
}

/** @returns {string[]} */
function sections(
  /** @type {readonly import('./sdks.mjs').Sdk[]} */ sdks,
  /** @type {readonly Result[]} */ results,
  /** @type {readonly string[]} */ inspector,
) {
  const languages = [...new Set(sdks.map(({ language }) => language))];
  return [
    table(
      ['SDK', 'package', 'version', 'A2A', 'bindings'],
      sdks.map((sdk) => [sdk.language, `\`${sdk.package}\``, sdk.version, sdk.protocol, sdk.bindings.join(', ')]),
    ),
    ...languages.flatMap((language) => {
      const columns = sdks
        .filter((sdk) => sdk.language === language)
        .flatMap((sdk) => sdk.bindings.map((binding) => ({ sdk, binding })));
      return [
        `### ${language}`,
        table(
          ['the client', ...columns.map(({ sdk, binding }) => `${sdk.protocol} ${binding}`)],
          Object.entries(CASES).map(([name, about]) => [
            about,
            ...columns.map(({ sdk, binding }) => cell(results, sdk.id, binding, name)),
          ]),
        ),
        ...notesOf(sdks.filter((sdk) => sdk.language === language)),
      ];
    }),
    '### a2a-inspector',
    inspector.join('\n'),
  ];
}

/** Formats the outcome of a case against both servers. */
function cell(
  /** @type {readonly Result[]} */ results,
  /** @type {string} */ sdk,
  /** @type {string} */ binding,
  /** @type {string} */ name,
) {
  const own = results.filter((one) => one.sdk === sdk && one.binding === binding && one.name === name);
  if (own.length === 0) return '–';
  const failed = own.filter(({ passed }) => !passed);
  if (failed.length === 0) return 'passed';
  const number =
    KNOWN_FAILURES.findIndex((one) => one.sdk === sdk && one.binding.includes(binding) && one.cases.includes(name)) + 1;
  const where = failed.length === own.length || AUTHENTICATED_CASES.includes(name) ? '' : ` (${failed[0].server})`;
  return `failed${where} [${number === 0 ? 'new' : number}]`;
}

/** Lists what a client does because of its SDK, and the reasons of the failures. */
function notesOf(/** @type {readonly import('./sdks.mjs').Sdk[]} */ sdks) {
  const notes = sdks.flatMap(({ protocol, notes: own }) => own.map((note) => `- ${protocol}: ${note}`));
  const failures = KNOWN_FAILURES.flatMap((known, index) =>
    sdks.some(({ id }) => id === known.sdk) ? [`- [${index + 1}] ${known.reason} Evidence: ${known.evidence}.`] : [],
  );
  return [notes, failures].filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
}

function table(/** @type {string[]} */ header, /** @type {string[][]} */ rows) {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column].length), 3));
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((text, column) => text.padEnd(widths[column])).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/**
 * Reads the failures in the tables of a page.
 *
 * @param {string} page
 */
export const failuresIn = (page) => [...page.matchAll(/\| failed[^|]*\[(\w+)\]/g)].map(([, number]) => number);
