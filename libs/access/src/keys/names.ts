import { BOUNDS } from '@app/domain';

/** Maximum number of rings, or of agents, of one credential. */
const LIST_LENGTH = 100;

// \p{C} includes control characters, lone surrogates and invisible marks. Lists of names are separated by commas.
const NAME = /^[^\s\p{C},]+$/u;
// The subjects of an identity provider may be distinguished names, which contain commas.
const SUBJECT = /^[^\s\p{C}]+$/u;

/** Returns whether a value is a valid name of a tenant, a ring or an agent. */
export const isName = (value: unknown): value is string => matches(value, NAME);

export const isSubject = (value: unknown): value is string => matches(value, SUBJECT);

export const isNameList = (values: readonly unknown[]): values is string[] =>
  values.length <= LIST_LENGTH && values.every(isName);

/** Descriptions of the rules for error messages. */
export const NAME_RULE = `1 to ${BOUNDS.idLength} printable characters without spaces and commas`;
export const SUBJECT_RULE = `1 to ${BOUNDS.idLength} printable characters without spaces`;
export const NAME_LIST_RULE = `at most ${LIST_LENGTH} names of ${NAME_RULE}`;

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && value.length <= BOUNDS.idLength && pattern.test(value);
}
