import type { JsonObject } from '@app/domain';

interface OptionalFields {
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: JsonObject;
  readonly extensions?: string[];
  readonly referenceTaskIds?: string[];
}

/** Encodes the optional fields of messages and artifacts, which are the same in both versions. Empty fields are omitted. */
export const encodeOptionalFields = ({
  name,
  description,
  metadata,
  extensions,
  referenceTaskIds,
}: OptionalFields): JsonObject => ({
  ...(name ? { name } : {}),
  ...(description ? { description } : {}),
  ...(metadata === undefined ? {} : { metadata }),
  ...(extensions?.length ? { extensions } : {}),
  ...(referenceTaskIds?.length ? { referenceTaskIds } : {}),
});
