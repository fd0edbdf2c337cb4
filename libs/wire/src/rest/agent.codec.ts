import type { JsonObject } from '@app/domain';
import type { CardDescription } from '../card-description.js';

/** Encodes the response of `GET /a2a/agent`. Its `capabilities` are the ids of the skills. */
export const encodeAgent = ({ name, description, version, skills }: CardDescription): JsonObject => ({
  name,
  description,
  version,
  capabilities: skills.map(({ id }) => id),
});
