import type { JsonObject } from '@app/domain';
import { isObject } from '../validation/object-reader.js';

/** Key of the original metadata, if the original metadata itself uses a reserved key. */
const ORIGINAL = 'acta/metadata';

/** Returns metadata that also contains `fields`, whose keys are all `reserved`. Returns no metadata if both are empty. */
export function embedInMetadata(
  metadata: JsonObject | undefined,
  fields: JsonObject,
  reserved: readonly string[],
): { metadata?: JsonObject } {
  const usesReservedKey = metadata !== undefined && [...reserved, ORIGINAL].some((key) => Object.hasOwn(metadata, key));
  if (usesReservedKey) return { metadata: { ...fields, [ORIGINAL]: metadata } };
  if (metadata === undefined && Object.keys(fields).length === 0) return {};
  return { metadata: { ...metadata, ...fields } };
}

/** Separates metadata into what `embedInMetadata` combined: the original metadata and the embedded fields. */
export function extractFromMetadata(
  metadata: JsonObject | undefined,
  reserved: readonly string[],
): { original?: JsonObject; fields: JsonObject } {
  if (metadata === undefined) return { fields: {} };
  const keys = [...reserved, ORIGINAL];
  if (!keys.some((key) => Object.hasOwn(metadata, key))) return { original: metadata, fields: {} };
  const entries = Object.entries(metadata);
  const fields = Object.fromEntries(entries.filter(([key]) => keys.includes(key)));
  const nested = fields[ORIGINAL];
  const original = isObject(nested) ? nested : Object.fromEntries(entries.filter(([key]) => !keys.includes(key)));
  return Object.keys(original).length === 0 ? { fields } : { original, fields };
}
