const MAX_SHOWN_LENGTH = 40;

/**
 * Returns what is wrong with a JSON number that a double does not represent (RFC 7493 section 2.2), or undefined. An integer is
 * represented if the double equals it, or if JSON writes the double as the same integer: then every reader gets the number that the
 * client wrote. A fraction rounds, but not to zero. It takes time linear in the length of the number.
 */
export function numberProblem(token: string): string | undefined {
  const value = Number(token);
  const shown = token.length <= MAX_SHOWN_LENGTH ? token : `${token.slice(0, MAX_SHOWN_LENGTH)}…`;
  if (!Number.isFinite(value)) return `must be a number that fits into a double, not ${shown}`;
  const written = decimalOf(token);
  if (value === 0 && written.digits !== '')
    return `must be a number that a double does not round to zero, not ${shown}`;
  return isRepresented(written, value)
    ? undefined
    : `must be an integer that a double holds exactly, not ${shown}; send it as a string`;
}

/** The absolute value of a number is `digits` times 10 to the power of `exponent`. The digits begin and end with no zero. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

function isRepresented(written: Decimal, value: number): boolean {
  if (written.exponent < 0) return true;
  const { digits, exponent } = decimalOf(String(value));
  if (digits === written.digits && exponent === written.exponent) return true;

  // A finite double has at most 309 digits, so the exponent is small.
  return BigInt(written.digits + '0'.repeat(written.exponent)) === BigInt(Math.abs(value));
}

function decimalOf(number: string): Decimal {
  const [, whole = '', fraction = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number)!;
  const significant = (whole + fraction).replace(/^0+/, '');
  if (significant === '') return { digits: '', exponent: 0 };
  let end = significant.length;
  while (significant[end - 1] === '0') end -= 1;
  return { digits: significant.slice(0, end), exponent: Number(power) - fraction.length + significant.length - end };
}
