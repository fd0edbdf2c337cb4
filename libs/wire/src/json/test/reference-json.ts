/*
 * A slow but simple reader of JSON, against which the fast scan is compared. It keeps every member of an object in order, and
 * computes with exact fractions.
 */

type Path = (string | number)[];

/** Returns the path of the first repeated key or lost number in a valid JSON text, or undefined. */
export function firstLossOf(text: string): Path | undefined {
  const reader = new ReferenceReader(text);
  reader.value([]);
  return reader.losses[0];
}

class ReferenceReader {
  readonly losses: Path[] = [];
  private rest: string;

  constructor(text: string) {
    this.rest = text;
  }

  value(path: Path): void {
    this.skip(/^\s*/);
    if (this.rest.startsWith('{')) this.object(path);
    else if (this.rest.startsWith('[')) this.array(path);
    else if (this.rest.startsWith('"')) this.string();
    else {
      const token = this.skip(/^[^\s,\]}]+/);
      if (/^[-\d]/.test(token) && losesValue(token)) this.losses.push(path);
    }
    this.skip(/^\s*/);
  }

  private object(path: Path): void {
    this.skip(/^\{\s*/);
    const keys: string[] = [];
    while (!this.rest.startsWith('}')) {
      this.skip(/^\s*/);
      const key = this.string();
      if (keys.includes(key)) this.losses.push([...path, key]);
      keys.push(key);
      this.skip(/^\s*:/);
      this.value([...path, key]);
      this.skip(/^,?/);
    }
    this.skip(/^\}/);
  }

  private array(path: Path): void {
    this.skip(/^\[\s*/);
    for (let index = 0; !this.rest.startsWith(']'); index += 1) {
      this.value([...path, index]);
      this.skip(/^,?/);
    }
    this.skip(/^\]/);
  }

  private string(): string {
    return JSON.parse(this.skip(/^"(?:[^"\\]|\\.)*"/)) as string;
  }

  private skip(pattern: RegExp): string {
    const [token = ''] = pattern.exec(this.rest) ?? [];
    this.rest = this.rest.slice(token.length);
    return token;
  }
}

/** Whether a JSON number overflows, rounds to zero, or is an integer that neither equals its double nor is written like it. */
export function losesValue(number: string): boolean {
  const double = Number(number);
  if (!Number.isFinite(double)) return true;
  const [numerator, denominator] = fractionOf(number);
  if (double === 0) return numerator !== 0n;
  if (numerator % denominator !== 0n) return false;
  return (
    !equal([numerator, denominator], exactFractionOf(double)) &&
    !equal([numerator, denominator], fractionOf(`${double}`))
  );
}

type Fraction = readonly [numerator: bigint, denominator: bigint];

const equal = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d === c * b;

/** Reads a decimal number as a fraction. */
function fractionOf(number: string): Fraction {
  const [mantissa = '', power = '0'] = number.split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const exponent = Number(power) - fraction.length;
  const digits = BigInt(whole + fraction);
  return exponent >= 0 ? [digits * 10n ** BigInt(exponent), 1n] : [digits, 10n ** BigInt(-exponent)];
}

/** Reads the bits of a double as a fraction. */
function exactFractionOf(double: number): Fraction {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, double);
  const raw = bits.getBigUint64(0);
  const exponent = Number((raw >> 52n) & 0x7ffn);
  const significand = (raw & 0xfffffffffffffn) + (exponent === 0 ? 0n : 1n << 52n);
  const signed = raw >> 63n === 1n ? -significand : significand;
  const shift = Math.max(exponent, 1) - 1075;
  return shift >= 0 ? [signed << BigInt(shift), 1n] : [signed, 1n << BigInt(-shift)];
}
