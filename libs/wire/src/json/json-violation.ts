/** The keys and indexes that lead from the root of a JSON document to one of its values. */
export type JsonPath = readonly (string | number)[];

/** A value of a JSON document that a request must not have, and what is wrong with it. */
export interface JsonViolation {
  readonly path: JsonPath;
  readonly description: string;
}

const MAX_STEPS = 12;
const MAX_KEY_LENGTH = 64;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** Writes `['message', 'parts', 0]` as `message.parts[0]`. Long paths and keys are cut and unprintable keys are escaped. */
export function fieldPath(path: JsonPath): string {
  const steps = path.slice(0, MAX_STEPS);
  const names = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${printableKey(step)}`));
  return `${names.join('')}${path.length > MAX_STEPS ? '…' : ''}`.replace(/^\./, '') || '(body)';
}

const printableKey = (key: string): string =>
  key.length <= MAX_KEY_LENGTH && /^[\x21-\x7e]*$/.test(key)
    ? key
    : JSON.stringify(key.slice(0, MAX_KEY_LENGTH).replace(LONE_SURROGATES, '\ufffd')).slice(1, -1);
