import { invalidField, type Json } from '@app/domain';
import { TransportError } from '../transport/transport-error.js';
import { findLoss } from './json-losses.js';
import { fieldPath, type JsonViolation } from './json-violation.js';
import { JsonWalk } from './json-walk.js';
import { countStrings } from './string-tokens.js';

/** A request body: its bytes, and the value that they encode. */
export interface JsonDocument {
  readonly bytes: Buffer;
  readonly text: string;
  readonly value: Json;
}

/** Parses the JSON of a response. A byte order mark is ignored, as RFC 8259 section 8.1 allows. Errors: ParseError. */
export const parseJson = (bytes: Uint8Array): Json => parseText(decodeUtf8(bytes));

/**
 * Parses a request body without checking its values. Keys such as `__proto__` become own members. Errors: ParseError for bytes that
 * are not UTF-8 or not JSON (RFC 8259), and for a byte order mark.
 */
export function parseDocument(body: Uint8Array): JsonDocument {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw parseError('the body starts with a byte order mark; send the JSON without it (RFC 8259 section 8.1)');
  }
  const text = decodeUtf8(bytes);
  return { bytes, text, value: parseText(text) };
}

/**
 * Finds the first value of a document that a request must not have: one that exceeds the bounds, or one that this server would record
 * differently than the client wrote it (I-JSON, RFC 7493). With `hasEnvelope`, the bounds do not include the root object.
 */
export function findViolation(document: JsonDocument, { hasEnvelope = false } = {}): JsonViolation | undefined {
  const { value, text } = document;
  const envelopeMembers = hasEnvelope ? Object.keys(value as object).length : 0;
  const walk = new JsonWalk(value, -envelopeMembers, hasEnvelope ? -1 : 0, text.includes('\\'));
  return walk.violation ?? (mayHaveLoss(document, walk) ? findLoss(text) : undefined);
}

/** Parses and checks a request body that has no envelope. Errors: ParseError, InvalidParameters with the path inside the body. */
export function parseAndCheckJson(bytes: Uint8Array): Json {
  const document = parseDocument(bytes);
  const violation = findViolation(document);
  if (violation !== undefined) throw invalidField(fieldPath(violation.path), violation.description);
  return document.value;
}

/** A number that rounds to zero has an exponent of at least three digits, or many zeros after the decimal point. */
const SMALL_EXPONENT = /[eE]-\d{3}/;
const SMALL_EXPONENT_HERE = new RegExp(SMALL_EXPONENT, 'y');
/** The dashes that are examined one by one. For more of them, a search of the complete text is faster. */
const MAX_DASHES = 2_000;
const MANY_ZEROS = Buffer.alloc(200, '0');

/**
 * Whether `JSON.parse` can have lost or changed a member. Each string of a document is in its parsed value, except those of repeated
 * keys. Integers below 2^53 and numbers other than zero are exact or rounded fractions. So only few documents need the slow scan.
 */
const mayHaveLoss = ({ bytes, text }: JsonDocument, { strings, hasRoundedInteger, hasZero }: JsonWalk): boolean =>
  hasRoundedInteger ||
  (hasZero && (hasSmallExponent(text) || bytes.includes(MANY_ZEROS))) ||
  strings !== countStrings(bytes);

function hasSmallExponent(text: string): boolean {
  let dash = text.indexOf('-');
  for (let count = 0; dash !== -1 && count < MAX_DASHES; count += 1) {
    SMALL_EXPONENT_HERE.lastIndex = dash - 1;
    if (dash > 0 && SMALL_EXPONENT_HERE.test(text)) return true;
    dash = text.indexOf('-', dash + 1);
  }
  return dash !== -1 && SMALL_EXPONENT.test(text.slice(dash - 1));
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw parseError('the body is not valid UTF-8; encode the JSON in UTF-8');
  }
}

function parseText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw parseError('the body is not valid JSON; check its syntax (RFC 8259)');
  }
}

const parseError = (message: string) => new TransportError('ParseError', message, {});
