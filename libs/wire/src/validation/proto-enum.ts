import type { Json } from '@app/domain';

/** The names of the values of a proto enum, in the order of their numbers. */
export type ProtoEnum = readonly string[];

/** `Role` of the protos of v1.0 and v0.3. */
export const ROLE_ENUM: ProtoEnum = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'];

/** Returns the name of an enum value, which ProtoJSON encodes as its name or as its number. Undefined if the enum lacks it. */
export function enumName(names: ProtoEnum, value: Json | undefined): string | undefined {
  if (typeof value === 'number') return names[value];
  return typeof value === 'string' && names.includes(value) ? value : undefined;
}
