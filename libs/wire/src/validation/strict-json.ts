import { BOUNDS, invalidField, type Json } from '@app/domain';
import { TransportError } from '../transport/transport-error.js';

/** Limits of one JSON document. `keys` counts object members and array elements alike; `stringBytes` is UTF-8 and holds for each string. */
export interface JsonBounds {
  readonly depth: number;
  readonly keys: number;
  readonly stringBytes: number;
}

const DEFAULT_BOUNDS: JsonBounds = {
  depth: BOUNDS.jsonDepth,
  keys: BOUNDS.jsonKeys,
  stringBytes: BOUNDS.jsonStringBytes,
};

/**
 * A request body as JSON, with nothing decided yet: bytes that are not UTF-8 or not JSON (RFC 8259) are a ParseError.
 * A byte order mark is passed over, as RFC 8259 section 8.1 allows. Keys such as `__proto__` become plain members.
 */
export function parseJson(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new TransportError('ParseError', 'the body is not valid UTF-8', {});
  }
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new TransportError('ParseError', 'the body is not valid JSON', {});
  }
}

/**
 * Refuses JSON that is too deep, too large, or that Postgres or another JSON implementation could not hold: NUL, lone
 * surrogates (RFC 7493 section 2.1) and numbers beyond a double. Throws InvalidParameters with the path inside `value`, such as
 * `message.parts[0].text`, and the bound.
 */
export function checkJson(value: Json, bounds: JsonBounds = DEFAULT_BOUNDS): void {
  new JsonCheck(bounds).value(value, 0);
}

/** `parseJson` and `checkJson` in one, for bodies that have no envelope. */
export function parseAndCheckJson(bytes: Uint8Array, bounds: JsonBounds = DEFAULT_BOUNDS): Json {
  const value = parseJson(bytes);
  checkJson(value, bounds);
  return value;
}

const LONE_SURROGATES = /\p{Surrogate}/gu;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Postgres holds no NUL in text, and UTF-8 no half of a surrogate pair. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && !LONE_SURROGATE.test(text);

class JsonCheck {
  private keys = 0;
  private readonly path: (string | number)[] = [];

  constructor(private readonly bounds: JsonBounds) {}

  value(value: Json, depth: number): void {
    if (typeof value === 'string') return this.string(value);
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) this.refuse('the number is too large');
      return;
    }
    if (value === null || typeof value === 'boolean') return;
    if (depth >= this.bounds.depth) this.refuse(`JSON may be nested at most ${this.bounds.depth} levels deep`);
    if (Array.isArray(value)) {
      this.count(value.length);
      for (let at = 0; at < value.length; at++) this.member(at, value[at]!, depth);
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

  private count(more: number): void {
    this.keys += more;
    if (this.keys > this.bounds.keys) this.refuse(`JSON may have at most ${this.bounds.keys} members and elements`);
  }

  private string(text: string): void {
    const { stringBytes } = this.bounds;
    // No UTF-16 unit takes more than three bytes, so most strings need no second look.
    if (text.length * 3 > stringBytes && Buffer.byteLength(text) > stringBytes) {
      this.refuse(`a string may have at most ${stringBytes} bytes`);
    }
    if (!isStorableText(text)) this.refuse('a string must not contain NUL or a lone surrogate');
  }

  private refuse(why: string): never {
    throw invalidField(fieldPath(this.path), why);
  }
}

/** `['message', 'parts', 0]` as `message.parts[0]`; long or unprintable keys are cut, so that an error stays readable. */
function fieldPath(path: readonly (string | number)[]): string {
  const names = path.slice(0, 12).map((step) => (typeof step === 'number' ? `[${step}]` : `.${printableKey(step)}`));
  return `${names.join('')}${path.length > 12 ? '…' : ''}`.replace(/^\./, '') || '(body)';
}

const printableKey = (key: string): string =>
  key.length <= 64 && /^[\x21-\x7e]*$/.test(key)
    ? key
    : JSON.stringify(key.slice(0, 64).replace(LONE_SURROGATES, '\ufffd')).slice(1, -1);
