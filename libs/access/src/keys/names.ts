import { BOUNDS } from '@app/domain';

/** Rings, or agents, that one credential may name. */
const LIST_LENGTH = 100;

// \p{C} takes in control characters, lone surrogates and invisible marks. A comma separates names in lists of them.
const NAME = /^[^\s\p{C},]+$/u;
// The subjects of an identity provider may be distinguished names, which have commas.
const SUBJECT = /^[^\s\p{C}]+$/u;

/** What a tenant, a ring and an agent may be called. */
export const isName = (value: unknown): value is string => fits(value, NAME);

export const isSubject = (value: unknown): value is string => fits(value, SUBJECT);

export const isNameList = (values: readonly unknown[]): values is string[] =>
  values.length <= LIST_LENGTH && values.every(isName);

export const NAME_RULE = `1 to ${BOUNDS.idLength} printable characters without spaces and commas`;
export const SUBJECT_RULE = `1 to ${BOUNDS.idLength} printable characters without spaces`;
export const NAME_LIST_RULE = `at most ${LIST_LENGTH} names of ${NAME_RULE}`;

function fits(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && value.length <= BOUNDS.idLength && pattern.test(value);
}
