import { countStrings } from '../../../dist/libs/wire/src/json/string-tokens.js';
import { findViolation, parseDocument } from '../../../dist/libs/wire/src/json/strict-json.js';
import { median } from '../quantiles.mjs';

const BODY_BYTES = 1_400_000;
const CODE = 'const value = map.get("key");\nif (value === undefined) return null;\n';

/** @type {Record<string, () => object[]>} The parts of a message. */
const BODIES = {
  'one text': () => [{ text: repeat('lorem ipsum dolor ') }],
  'one text with quotes and line breaks': () => [{ text: repeat(CODE).slice(0, BODY_BYTES - BODY_BYTES / 20) }],
  'a list of texts': () => [{ data: Array.from({ length: 18_000 }, (_, n) => `${n} ${'x'.repeat(68)}`) }],
  records: () => [
    {
      data: Array.from({ length: 1_800 }, (_, id) => ({
        id,
        name: `item ${id}`,
        tags: ['a', 'b'],
        price: id * 1.25,
        address: 'a street in a town '.repeat(36),
      })),
    },
  ],
};

const repeat = (/** @type {string} */ text) => text.repeat(BODY_BYTES / text.length);

/**
 * Measures what a request body costs beyond `JSON.parse`: the scan for members that it loses, and all checks of its values, which
 * include the scan. The measurements are interleaved, so that a change of the machine's speed affects all of them.
 *
 * @returns {{ body: string, bytes: number, parse: number, scan: number, checks: number }[]} medians in ms
 */
export function measureJsonScan(/** @type {{ rounds: number }} */ { rounds }) {
  return Object.entries(BODIES).map(([body, parts]) => {
    const message = { messageId: 'large', role: 'ROLE_USER', parts: parts() };
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }));
    const document = parseDocument(bytes);
    const times = { parse: [0], scan: [0], checks: [0] };
    for (let round = 0; round < rounds; round += 1) {
      times.parse.push(timeOf(() => JSON.parse(document.text)));
      times.scan.push(timeOf(() => countStrings(document.bytes)));
      times.checks.push(
        timeOf(() => {
          const violation = findViolation(document, { hasEnvelope: true });
          if (violation !== undefined) throw new Error(`the body has a violation: ${violation.description}`);
        }),
      );
    }
    const [parse, scan, checks] = [times.parse, times.scan, times.checks].map(median);
    return { body, bytes: bytes.length, parse, scan, checks };
  });
}

/** Returns the time of some work in milliseconds. */
function timeOf(/** @type {() => void} */ work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}
