import type { JsonObject } from '@app/domain';
import { isObject } from '../validation/object-reader.js';

/** Holds metadata that uses a reserved key itself. */
const OWN = 'acta/metadata';

/** Metadata with what the shape has no other place for: `extra`, all of it under `reserved` keys. Without both, none. */
export function embedInMetadata(
  metadata: JsonObject | undefined,
  extra: JsonObject,
  reserved: readonly string[],
): { metadata?: JsonObject } {
  const clashes = metadata !== undefined && [...reserved, OWN].some((key) => Object.hasOwn(metadata, key));
  if (clashes) return { metadata: { ...extra, [OWN]: metadata } };
  if (metadata === undefined && Object.keys(extra).length === 0) return {};
  return { metadata: { ...metadata, ...extra } };
}

/** The two apart again. */
export function extractFromMetadata(
  metadata: JsonObject | undefined,
  reserved: readonly string[],
): { own?: JsonObject; extra: JsonObject } {
  if (metadata === undefined) return { extra: {} };
  const taken = [...reserved, OWN];
  if (!taken.some((key) => Object.hasOwn(metadata, key))) return { own: metadata, extra: {} };
  const entries = Object.entries(metadata);
  const extra = Object.fromEntries(entries.filter(([key]) => taken.includes(key)));
  const nested = extra[OWN];
  const own = isObject(nested) ? nested : Object.fromEntries(entries.filter(([key]) => !taken.includes(key)));
  return Object.keys(own).length === 0 ? { extra } : { own, extra };
}
