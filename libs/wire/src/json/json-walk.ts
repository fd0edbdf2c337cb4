import { BOUNDS, type Json } from '@app/domain';
import type { JsonViolation } from './json-violation.js';

/** Integers from this one on can be the rounded value of a different integer. */
const FIRST_ROUNDED_INTEGER = 2 ** 53;

/** Returns whether Postgres can store the text: it has no NUL, and UTF-8 can encode it. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/**
 * Walks through a parsed JSON value. It finds what exceeds the bounds and what Postgres or another JSON implementation cannot
 * represent: NUL, lone surrogates (RFC 7493 section 2.1) and numbers beyond a double. It also counts what `hasLoss` compares with the
 * text.
 */
export class JsonWalk {
  /** The strings so far, keys included. */
  strings = 0;
  hasZero = false;
  hasRoundedInteger = false;
  violation: JsonViolation | undefined;
  private readonly path: (string | number)[] = [];

  /**
   * `members` and `depth` are those of the value's envelope, as negative numbers, so that the bounds do not include them.
   * Without `hasEscapes`, the text has no escape, and so no NUL and no surrogate.
   */
  constructor(
    value: Json,
    private members = 0,
    depth = 0,
    private readonly hasEscapes = true,
  ) {
    this.visit(value, depth);
  }

  /** Returns false after a violation, which ends the walk. */
  private visit(value: Json, depth: number): boolean {
    if (typeof value === 'string') return this.visitString(value);
    if (typeof value === 'number') return this.visitNumber(value);
    if (value === null || typeof value === 'boolean') return true;
    if (depth >= BOUNDS.jsonDepth) return this.reject(`must be nested at most ${BOUNDS.jsonDepth} levels deep`);
    if (Array.isArray(value)) {
      if (!this.count(value.length)) return false;
      for (let index = 0; index < value.length; index += 1) {
        if (!this.visitMember(index, value[index]!, depth)) return false;
      }
      return true;
    }
    const keys = Object.keys(value);
    if (!this.count(keys.length)) return false;
    for (const key of keys) {
      if (!this.visitString(key) || !this.visitMember(key, value[key]!, depth)) return false;
    }
    return true;
  }

  private visitMember(name: string | number, value: Json, depth: number): boolean {
    this.path.push(name);
    if (!this.visit(value, depth + 1)) return false;
    this.path.pop();
    return true;
  }

  private visitString(text: string): boolean {
    this.strings += 1;
    const limit = BOUNDS.jsonStringBytes;
    // A UTF-16 unit takes at most three bytes, so the bytes of most strings need not be counted.
    if (text.length * 3 > limit && Buffer.byteLength(text) > limit) {
      return this.reject(`must be a string of at most ${limit} bytes in UTF-8`);
    }
    return !this.hasEscapes || isStorableText(text) || this.reject('must not contain NUL or a lone surrogate');
  }

  private visitNumber(value: number): boolean {
    if (!Number.isFinite(value)) return this.reject('must be a number that fits into a double');
    if (value === 0) this.hasZero = true;
    else if (Math.abs(value) >= FIRST_ROUNDED_INTEGER) this.hasRoundedInteger = true;
    return true;
  }

  private count(members: number): boolean {
    this.members += members;
    if (this.members <= BOUNDS.jsonKeys) return true;
    this.violation = { path: [], description: `must have at most ${BOUNDS.jsonKeys} members and elements in total` };
    return false;
  }

  private reject(description: string): false {
    this.violation = { path: [...this.path], description };
    return false;
  }
}
