import { BOUNDS, invalidField, type Json } from '@app/domain';
import { TransportError } from '../transport/transport-error.js';

/**
 * Parses a request body without checking its bounds. A byte order mark is ignored, as RFC 8259 section 8.1 allows. Keys such as
 * `__proto__` become own members. Errors: ParseError for bytes that are not UTF-8 or not JSON (RFC 8259).
 */
export function parseJson(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new TransportError('ParseError', 'the body is not valid UTF-8; encode the JSON in UTF-8', {});
  }
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new TransportError('ParseError', 'the body is not valid JSON; check its syntax (RFC 8259)', {});
  }
}

/**
 * Checks the bounds of a JSON value, and rejects what Postgres or another JSON implementation cannot represent: NUL, lone
 * surrogates (RFC 7493 section 2.1) and numbers beyond a double. Errors: InvalidParameters, with the path inside `value`, such
 * as `message.parts[0].text`.
 */
export function checkJson(value: Json): void {
  new JsonCheck().value(value, 0);
}

/** Parses and checks a request body that has no envelope. Errors: ParseError, InvalidParameters. */
export function parseAndCheckJson(bytes: Uint8Array): Json {
  const value = parseJson(bytes);
  checkJson(value);
  return value;
}

const MAX_STEPS = 12;
const LONE_SURROGATES = /\p{Surrogate}/gu;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns whether Postgres can store the text: it has no NUL, and UTF-8 can encode it. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && !LONE_SURROGATE.test(text);

class JsonCheck {
  /** Object members and array elements so far. */
  private members = 0;
  private readonly path: (string | number)[] = [];

  value(value: Json, depth: number): void {
    if (typeof value === 'string') return this.string(value);
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) this.reject('must be a number that fits into a double');
      return;
    }
    if (value === null || typeof value === 'boolean') return;
    if (depth >= BOUNDS.jsonDepth) this.reject(`must be nested at most ${BOUNDS.jsonDepth} levels deep`);
    if (Array.isArray(value)) {
      this.count(value.length);
      for (let index = 0; index < value.length; index++) this.member(index, value[index]!, depth);
      return;
    }
    const keys = Object.keys(value);
    this.count(keys.length);
    for (const key of keys) {
      this.string(key);
      this.member(key, value[key]!, depth);
    }
  }

  private member(name: string | number, value: Json, depth: number): void {
    this.path.push(name);
    this.value(value, depth + 1);
    this.path.pop();
  }

  private count(members: number): void {
    this.members += members;
    if (this.members > BOUNDS.jsonKeys) {
      this.reject(`the JSON document must have at most ${BOUNDS.jsonKeys} members and elements`);
    }
  }

  private string(text: string): void {
    const limit = BOUNDS.jsonStringBytes;
    // A UTF-16 unit takes at most three bytes, so the bytes of most strings need not be counted.
    if (text.length * 3 > limit && Buffer.byteLength(text) > limit) {
      this.reject(`must be a string of at most ${limit} bytes in UTF-8`);
    }
    if (!isStorableText(text)) this.reject('must not contain NUL or a lone surrogate');
  }

  private reject(description: string): never {
    throw invalidField(fieldPath(this.path), description);
  }
}

/** Writes `['message', 'parts', 0]` as `message.parts[0]`. Long paths and keys are cut and unprintable keys are escaped. */
function fieldPath(path: readonly (string | number)[]): string {
  const steps = path.slice(0, MAX_STEPS);
  const names = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${printableKey(step)}`));
  return `${names.join('')}${path.length > MAX_STEPS ? '…' : ''}`.replace(/^\./, '') || '(body)';
}

const printableKey = (key: string): string =>
  key.length <= 64 && /^[\x21-\x7e]*$/.test(key)
    ? key
    : JSON.stringify(key.slice(0, 64).replace(LONE_SURROGATES, '\ufffd')).slice(1, -1);
