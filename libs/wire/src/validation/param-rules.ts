import type { Json } from '@app/domain';
import { IsDefined, IsOptional, ValidateBy } from 'class-validator';
import { idProblem, isObject, withValue } from './object-reader.js';
import { enumName, type ProtoEnum } from './proto-enum.js';
import { parseTimestamp } from './timestamp.js';

/*
 * The rules of params classes, as decorators. The description of a violation contains the received value, unless it can be a secret.
 */

type Problem = (value: unknown) => string | undefined;

/** A rule whose violation is described by what `problem` returns. */
function rule(name: string, problem: Problem): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => problem(value) === undefined,
      defaultMessage: (invalid) => problem(invalid?.value) ?? '',
    },
  });
}

/** The problem that a value is not as `description` states. */
const unless =
  (isValid: (value: unknown) => boolean, description: string): Problem =>
  (value) =>
    isValid(value) ? undefined : withValue(description, value);

const isString = (value: unknown): value is string => typeof value === 'string';

const textProblem =
  (problem: (text: string) => string | undefined): Problem =>
  (value) =>
    isString(value) ? problem(value) : withValue('must be a string', value);

const all =
  (...rules: PropertyDecorator[]): PropertyDecorator =>
  (target, name) =>
    rules.forEach((decorate) => decorate(target, name));

export const Required = (): PropertyDecorator => IsDefined({ message: 'is required' });
export const Optional = (): PropertyDecorator => IsOptional();

export const IsString = (): PropertyDecorator => rule('isString', unless(isString, 'must be a string'));

export const IsBoolean = (): PropertyDecorator =>
  rule(
    'isBoolean',
    unless((value) => typeof value === 'boolean', 'must be true or false'),
  );

export const IsOneOf = (values: readonly string[]): PropertyDecorator =>
  rule(
    'isOneOf',
    unless((value) => isString(value) && values.includes(value), `must be one of ${values.join(', ')}`),
  );

export const ENUM_RULE = 'isEnumOf';

/** A name or a number of a proto enum. */
export const IsEnumOf = (names: ProtoEnum): PropertyDecorator =>
  rule(
    ENUM_RULE,
    unless((value) => enumName(names, value as Json) !== undefined, `must be one of ${names.join(', ')}`),
  );

/** An array of at most `maxSize` items. `items` names them in the description of a violation. */
export const IsArrayOf = (items: string, maxSize = Infinity): PropertyDecorator =>
  rule('isArrayOf', (value) => {
    if (!Array.isArray(value)) return withValue(`must be an array of ${items}`, value);
    return value.length <= maxSize ? undefined : `must be an array of at most ${maxSize} ${items}, not ${value.length}`;
  });

export const IsArrayOfStrings = (items: string): PropertyDecorator =>
  rule(
    'isArrayOfStrings',
    unless((value) => Array.isArray(value) && value.every(isString), `must be an array of ${items}`),
  );

/** A bounded, printable string. */
const IsId = (): PropertyDecorator => rule('isId', textProblem(idProblem));

export const RequiredId = (): PropertyDecorator => all(Required(), IsId());
export const OptionalId = (): PropertyDecorator => all(Optional(), IsId());

/** A JSON number. `"10"` is rejected, although ProtoJSON accepts it, because a client that sends it has a bug. */
export const IsIntegerBetween = (min: number, max: number): PropertyDecorator =>
  rule(
    'isIntegerBetween',
    unless(
      (value) => typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max,
      `must be an integer from ${min} to ${max}`,
    ),
  );

export const INT32_MAX = 2 ** 31 - 1;

/** `historyLength`: an upper bound of the number of messages; absent means unbounded. */
export const IsHistoryLength = (): PropertyDecorator => all(Optional(), IsIntegerBetween(0, INT32_MAX));

export const IsTimestamp = (): PropertyDecorator =>
  rule(
    'isTimestamp',
    unless(
      (value) => isString(value) && parseTimestamp(value) !== undefined,
      'must be an RFC 3339 timestamp such as 2025-10-28T10:30:00.000Z',
    ),
  );

export const IsJsonObject = (): PropertyDecorator =>
  rule(
    'isJsonObject',
    unless((value) => isObject(value as Json), 'must be an object'),
  );

const MAX_PAGE_TOKEN_LENGTH = 4096;

/** A bounded string. The query handler authenticates it. */
export const IsPageToken = (): PropertyDecorator =>
  rule(
    'isPageToken',
    textProblem((text) =>
      text.length <= MAX_PAGE_TOKEN_LENGTH
        ? undefined
        : `has ${text.length} characters, which no page token has; pass the token of the previous page unchanged`,
    ),
  );

/** A header value of a webhook request: printable ASCII, so that it cannot contain CR or LF. The value can be a secret. */
export const IsHeaderText = (maxLength: number): PropertyDecorator =>
  rule('isHeaderText', (value) =>
    isString(value) && value.length <= maxLength && /^[\x20-\x7e]*$/.test(value)
      ? undefined
      : `must be a string of at most ${maxLength} printable ASCII characters`,
  );

/** An HTTP authentication scheme: a token of RFC 9110 section 5.6.2. */
export const IsAuthScheme = (): PropertyDecorator =>
  rule(
    'isAuthScheme',
    unless(
      (value) => isString(value) && /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(value),
      'must be an HTTP authentication scheme of at most 64 characters',
    ),
  );

const MAX_URL_LENGTH = 2048;

/** The URL of a webhook. The value can contain a secret. Whether its address is allowed is checked when it is called. */
export const IsWebhookUrl = (): PropertyDecorator =>
  rule('isWebhookUrl', (value) =>
    isString(value) && value.length <= MAX_URL_LENGTH && !/[\s\p{C}]/u.test(value) && isHttpUrl(value)
      ? undefined
      : `must be an absolute http or https URL of at most ${MAX_URL_LENGTH} characters, with a port other than 0`,
  );

/** Port 0 is reserved: no server listens on it (RFC 6335 section 6). */
const isHttpUrl = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol) && new URL(text).port !== '0';
