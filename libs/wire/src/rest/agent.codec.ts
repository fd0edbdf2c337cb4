import type { JsonObject } from '@app/domain';
import type { CardDescription } from '../card-description.js';

/** `GET /a2a/agent`: `capabilities` are the ids of the skills. */
export function encodeAgent(
  { name, description, version, skills }: CardDescription,
  schemas: { input?: JsonObject; output?: JsonObject } = {},
): JsonObject {
  return {
    name,
    description,
    version,
    capabilities: skills.map(({ id }) => id),
    ...(schemas.input === undefined ? {} : { input_schema: schemas.input }),
    ...(schemas.output === undefined ? {} : { output_schema: schemas.output }),
  };
}
