import type { JsonObject } from '@app/domain';
import { type CardDescription, type CardInterface, encodeExtension, encodeSkill } from '../card-description.js';

/**
 * Encodes the agent card of A2A v0.3 (section 5.5), without fields of later versions. Its main address is the first v0.3 interface.
 * Throws if there is none.
 */
export function encodeCard(card: CardDescription): JsonObject {
  const interfaces = card.interfaces.filter(({ version }) => version === '0.3');
  const main = interfaces[0];
  if (main === undefined) throw new Error(`the card of agent "${card.name}" has no interface of A2A v0.3`);
  const { streaming, pushNotifications, extendedAgentCard } = card.capabilities;
  return {
    protocolVersion: '0.3.0',
    name: card.name,
    description: card.description,
    url: main.url,
    preferredTransport: main.binding,
    // The main address is listed again, as section 5.6.1 recommends, so that a client can choose from one list.
    additionalInterfaces: interfaces.map(encodeInterface),
    ...(card.provider === undefined ? {} : { provider: { ...card.provider } }),
    version: card.version,
    capabilities: {
      streaming,
      pushNotifications,
      stateTransitionHistory: false,
      ...(card.extensions?.length ? { extensions: card.extensions.map(encodeExtension) } : {}),
    },
    ...(card.authentication === 'none'
      ? {}
      : { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, security: [{ bearer: [] }] }),
    defaultInputModes: [...card.inputModes],
    defaultOutputModes: [...card.outputModes],
    skills: card.skills.map(encodeSkill),
    supportsAuthenticatedExtendedCard: extendedAgentCard,
  };
}

const encodeInterface = ({ url, binding }: CardInterface): JsonObject => ({ url, transport: binding });
