const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The number of bytes that are examined together. */
const BLOCK = 128;

// The same byte in each of the four bytes of a word.
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const LOW_BITS = 0x7f7f7f7f;
const ONES = 0x01010101;
/** The mark of one byte of a word. */
const MARK = 0x80;

/** Marks each zero byte of a word with 0x80, and each other byte with 0. */
const zeroBytes = (word: number): number => ~(((word & LOW_BITS) + LOW_BITS) | word | LOW_BITS);

/** Marks each byte of a word that is not zero with 1, and each zero byte with 0. */
const nonZeroBytes = (word: number): number => ((((word & LOW_BITS) + LOW_BITS) | word) >>> 7) & ONES;

/**
 * Counts the strings in the UTF-8 bytes of valid JSON, keys included. It counts the quotes that no backslash escapes, four bytes at
 * a time, because a loop over single bytes takes as long as `JSON.parse`.
 */
export function countStrings(bytes: Uint8Array): number {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const blocksEnd = bytes.length - (bytes.length % BLOCK);
  let quotes = 0;
  /** MARK if the next byte is escaped, else 0. */
  let escape = 0;
  /** If it is not before the current block, no backslash is between the block and this position. */
  let nextBackslash = find(bytes, BACKSLASH, 0);
  let start = 0;
  while (start < blocksEnd) {
    const end = start + BLOCK;
    const before = quotes;
    /** The number of quotes for each of the four bytes of the words: at most BLOCK / 4, so no sum exceeds its byte. */
    let lanes = 0;
    if (end <= nextBackslash && escape === 0) {
      let others = 0;
      // Four words at a time: this loop takes most of the time, and its overhead a third of it.
      for (let offset = start; offset < end; offset += 16) {
        others +=
          nonZeroBytes(words.getInt32(offset, true) ^ QUOTES) +
          nonZeroBytes(words.getInt32(offset + 4, true) ^ QUOTES) +
          nonZeroBytes(words.getInt32(offset + 8, true) ^ QUOTES) +
          nonZeroBytes(words.getInt32(offset + 12, true) ^ QUOTES);
      }
      quotes += BLOCK - (Math.imul(others, ONES) >>> 24);
    } else {
      let found = 0;
      for (let offset = start; offset < end; offset += 4) {
        const word = words.getInt32(offset, true);
        const marks = zeroBytes(word ^ BACKSLASHES);
        const escaped = (marks << 8) | escape;
        found |= marks;
        if ((marks & escaped) === 0) {
          lanes += (zeroBytes(word ^ QUOTES) & ~escaped) >>> 7;
          escape = marks >>> 24;
        } else {
          // A backslash follows a backslash, so it may be escaped itself.
          const counted = countQuotes(bytes, offset, offset + 4, escape);
          quotes += counted.quotes;
          ({ escape } = counted);
        }
      }
      if (found === 0) nextBackslash = find(bytes, BACKSLASH, end);
    }
    quotes += Math.imul(lanes, ONES) >>> 24;
    start = end;
    if (quotes === before) {
      // In a long string, the native search is faster.
      const next = find(bytes, QUOTE, end);
      start = next - (next % BLOCK);
      escape = isEscaped(bytes, start) ? MARK : 0;
    }
  }
  return (quotes + countQuotes(bytes, start, bytes.length, escape).quotes) / 2;
}

/** Counts the quotes of some bytes one by one, and returns whether the byte after them is escaped. */
function countQuotes(bytes: Uint8Array, start: number, end: number, escapeBefore: number) {
  let quotes = 0;
  let escape = escapeBefore;
  for (let offset = start; offset < end; offset += 1) {
    if (escape !== 0) escape = 0;
    else if (bytes[offset] === QUOTE) quotes += 1;
    else if (bytes[offset] === BACKSLASH) escape = MARK;
  }
  return { quotes, escape };
}

/** Returns the position of the next such byte, or the end. */
function find(bytes: Uint8Array, byte: number, from: number): number {
  const offset = bytes.indexOf(byte, from);
  return offset === -1 ? bytes.length : offset;
}

/** Whether the byte at a position follows an odd number of backslashes. */
function isEscaped(bytes: Uint8Array, offset: number): boolean {
  let first = offset;
  while (bytes[first - 1] === BACKSLASH) first -= 1;
  return (offset - first) % 2 === 1;
}
